import { type Kysely, sql } from "kysely";
import type { Tables } from "../orm.ts";
import { named } from "./named.ts";
import { prepare } from "./prepare.ts";

interface OfConnection {
  readonly accountId: string;
  readonly connectionId: number;
}

interface GrantVersion {
  readonly accountId: string;
  readonly id: string;
  readonly version: number;
}

function inForce(tables: Kysely<Tables>, given: OfConnection) {
  return tables
    .selectFrom("connection_grant")
    .select(named("id", "keyVersion", "sealedGrant", "version", "lostReason"))
    .where(({ and }) => and({ account_id: given.accountId, connection_id: given.connectionId }))
    .where("ended_at", "is", null);
}

function nextVersion(tables: Kysely<Tables>, given: GrantVersion) {
  return tables
    .updateTable("connection_grant")
    .set(({ eb }) => ({ version: eb("version", "+", sql.lit(1)) }))
    .where(({ and }) => and({ account_id: given.accountId, id: given.id }))
    .where("version", "=", given.version);
}

/** The current grant of a connection. */
export const findConnectionGrant = prepare("connection_grant_find", inForce);

/** The current grant, locked for the transaction that renews it. */
export const lockConnectionGrant = prepare("connection_grant_lock", (tables, given: OfConnection) =>
  inForce(tables, given).forUpdate(),
);

/** Replaces the tokens of a grant if it still has this version. */
export const renewConnectionGrant = prepare(
  "connection_grant_renew",
  (tables, given: GrantVersion & { sealedGrant: Buffer }) =>
    nextVersion(tables, given).set({ sealed_grant: given.sealedGrant, renewed_at: sql`now()` }),
);

/** Stores why a grant of this version can no longer be renewed. */
export const loseConnectionGrant = prepare(
  "connection_grant_lose",
  (tables, given: GrantVersion & { reason: string }) => nextVersion(tables, given).set({ lost_reason: given.reason }),
);

/** Limits lock waits and idle time for the rest of the transaction. */
export const boundTransaction = prepare("connection_grant_bound", (tables, given: { readonly milliseconds: string }) =>
  tables.selectNoFrom(({ fn, val }) =>
    (["lock_timeout", "idle_in_transaction_session_timeout"] as const).map((name) =>
      fn<string>("set_config", [sql.lit(name), val(given.milliseconds), sql.lit(true)]).as(name),
    ),
  ),
);
