import type { InferEntity } from "@mikro-orm/core";
import type { EntityManager } from "@mikro-orm/postgresql";
import type { JWK } from "jose";
import { sql } from "kysely";
import { INSTALLATION_LOG } from "../../../identity/audit/audit-event.ts";
import type { KeyRotationStore, RotationOutcome } from "../../../identity/keys/key-rotation.ts";
import { type NewSigningKey, SIGNING_KEY_CHANNEL, type StoredSigningKey } from "../../../identity/keys/signing-keys.ts";
import { isJsonObject } from "../../../json.ts";
import { SigningKeyEntity } from "../../entities/identity/signing-key.ts";
import { callFunction, inTransaction, notify, type Orm, tablesOf, transactionTime, withEntities } from "../../orm.ts";
import type { SealedPlace, Sealer } from "../../sealing.ts";
import { recordEvent } from "./audit-event.ts";

/** Allows one rotation at a time in the whole installation. The value is arbitrary but must never change. */
const ROTATION_LOCK = 0x7061746b;

/** How long after a key's retirement a lagging replica may have signed a personal access token with it. */
const LAG = "10 minutes";

/**
 * The location to which encryption binds a signing key's private half. It names no account, because keys belong to the
 * installation.
 */
export function signingKeyPlace(id: string): SealedPlace {
  return { table: "signing_key", column: "sealed_private_jwk", accountId: "", rowId: id };
}

function parseJwk(text: string): JWK {
  const jwk: unknown = JSON.parse(text);
  if (!isJsonObject(jwk)) throw new Error("a sealed signing key is not a JWK");
  return jwk;
}

/** Signing keys in PostgreSQL, with sealed private halves. */
export function createSigningKeyStore(orm: Orm, sealer: Sealer): KeyRotationStore {
  function toKey(row: InferEntity<typeof SigningKeyEntity>): StoredSigningKey {
    const { id, purpose, state, publicJwk, sealedPrivateJwk, createdAt, readyAt, currentSince, retiredAt } = row;
    return {
      ...{ id, purpose, state, publicJwk, createdAt, readyAt },
      privateJwk: sealedPrivateJwk ? parseJwk(sealer.open(sealedPrivateJwk, signingKeyPlace(id))) : undefined,
      currentSince: currentSince ?? undefined,
      retiredAt: retiredAt ?? undefined,
    };
  }

  /** Returns false if the purpose already has a key in this state. */
  async function insert(em: EntityManager, key: NewSigningKey, state: "current" | "next", readyInSeconds: number) {
    const { id, purpose, publicJwk, privateJwk } = key;
    const { numInsertedOrUpdatedRows } = await tablesOf(em)
      .insertInto("signing_key")
      .values({
        ...{ id, purpose, state },
        public_jwk: publicJwk,
        sealed_private_jwk: sealer.seal(JSON.stringify(privateJwk), signingKeyPlace(id)),
        ready_at: sql<Date>`now() + make_interval(secs => ${readyInSeconds})`,
        current_since: state === "current" ? sql<Date>`now()` : null,
      })
      .onConflict((conflict) => conflict.doNothing())
      .executeTakeFirstOrThrow();
    return numInsertedOrUpdatedRows === 1n;
  }

  return {
    async list() {
      const orderBy = { createdAt: "asc", id: "asc" } as const;
      return (await withEntities(orm, (em) => em.find(SigningKeyEntity, {}, { orderBy }))).map(toKey);
    },
    insertFirst: (current, next) =>
      inTransaction(orm, async (em) => {
        if (!(await insert(em, current, "current", 0))) return;
        // No client can have cached a key set without this next key, so it may sign immediately.
        await insert(em, next, "next", 0);
        await notify(em, SIGNING_KEY_CHANNEL, "");
      }),
    insertNext: (next, readyInSeconds) =>
      inTransaction(orm, async (em) => {
        if (await insert(em, next, "next", readyInSeconds)) await notify(em, SIGNING_KEY_CHANNEL, "");
      }),
    rotate: (purpose, fresh, { isForced, ifOlderThanSeconds, readyInSeconds }, actor) =>
      inTransaction(orm, async (em): Promise<RotationOutcome> => {
        await callFunction(em, "pg_advisory_xact_lock", ROTATION_LOCK);
        const now = await transactionTime(em);
        const current = await em.findOne(SigningKeyEntity, { purpose, state: "current" });
        if (current === null) throw new Error(`no current signing key for ${purpose}`);
        const ageMs = now.getTime() - (current.currentSince?.getTime() ?? 0);
        if (ifOlderThanSeconds !== undefined && ageMs <= ifOlderThanSeconds * 1_000) return { kind: "not_due" };
        const next = await em.findOne(SigningKeyEntity, { purpose, state: "next" });
        if (next === null) throw new Error(`no next signing key for ${purpose}`);
        const { readyAt } = next;
        if (readyAt > now && !isForced) return { kind: "not_ready", readyAt };
        em.assign(current, { state: "retired", retiredAt: now, sealedPrivateJwk: null });
        // A purpose never has two keys in one state.
        await em.flush();
        em.assign(next, { state: "current", currentSince: now });
        const object = { accountId: INSTALLATION_LOG, objectType: "signing_key", objectId: next.id } as const;
        recordEvent(em, { ...object, objectName: purpose, action: "signing_key.rotate", actor });
        await em.flush();
        await insert(em, fresh, "next", readyInSeconds);
        await notify(em, SIGNING_KEY_CHANNEL, "");
        return { kind: "rotated" };
      }),
    dropRetired: (retiredForSeconds) =>
      inTransaction(orm, async (em) => {
        const dropped = await tablesOf(em)
          .deleteFrom("signing_key as key")
          .where("key.state", "=", "retired")
          .where("key.retired_at", "<", sql<Date>`now() - make_interval(secs => ${retiredForSeconds})`)
          .where(({ eb, or, not, exists, selectFrom }) => {
            const inUse = selectFrom("personal_access_token as token")
              .select("token.id")
              .where("token.created_at", "<=", sql<Date>`${sql.ref("key.retired_at")} + ${LAG}::interval`)
              .where("token.revoked_at", "is", null)
              .where((token) =>
                token.or([token("token.expires_at", "is", null), token("token.expires_at", ">", sql<Date>`now()`)]),
              );
            return or([eb("key.purpose", "=", "access_token"), not(exists(inUse))]);
          })
          .returning("key.id")
          .execute();
        if (dropped.length > 0) await notify(em, SIGNING_KEY_CHANNEL, "");
        return dropped.map(({ id }) => id);
      }),
  };
}
