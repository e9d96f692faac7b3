import type { EntityManager } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import { type CreatedConnection, KEY_LIFETIME_SECONDS, keyReused } from "../../../connections/create-once.ts";
import { DomainError } from "../../../domain-error.ts";
import { IdempotencyKeyEntity } from "../../entities/connections/idempotency-key.ts";
import { now, tablesOf } from "../../orm.ts";

/** An idempotency key with the digest of its request. */
export interface HashedKey {
  readonly key: string;
  readonly requestHash: Buffer;
}

/**
 * Returns the result stored under an unexpired key, or undefined. Throws `conflict` if the key was used for another
 * request.
 */
export async function findUnderKey(
  em: EntityManager,
  accountId: string,
  { key, requestHash }: HashedKey,
): Promise<CreatedConnection | undefined> {
  const isInForce = { accountId, key, expiresAt: { $gt: now() } };
  const row = await em.findOne(IdempotencyKeyEntity, isInForce);
  if (row === null) return undefined;
  if (!requestHash.equals(row.requestHash)) throw keyReused();
  const { connectionId: id, serverType, name, status, createdAt } = row;
  return { id, serverType, name, status, createdAt, isRepeated: true };
}

/** Stores a result within the caller's transaction, which fails if a concurrent request was first. */
export async function keepUnderKey(
  em: EntityManager,
  accountId: string,
  { key, requestHash }: HashedKey,
  { id, serverType, name, status, createdAt }: CreatedConnection,
): Promise<void> {
  const expires_at = sql<Date>`now() + make_interval(secs => ${KEY_LIFETIME_SECONDS})`;
  const created = { connection_id: id, server_type: serverType, name, status, created_at: createdAt };
  const kept = { request_hash: requestHash, ...created, expires_at };
  const { numInsertedOrUpdatedRows } = await tablesOf(em)
    .insertInto("idempotency_key")
    .values({ account_id: accountId, key, ...kept })
    // Replaces an expired row that the sweep has not deleted yet. If the row has not expired, nothing is inserted.
    .onConflict((conflict) =>
      conflict
        .columns(["account_id", "key"])
        .doUpdateSet(kept)
        .where("idempotency_key.expires_at", "<=", sql<Date>`now()`),
    )
    .executeTakeFirstOrThrow();
  if (numInsertedOrUpdatedRows === 0n)
    throw new DomainError("conflict", "The same request is being answered at the moment. Try again.");
}
