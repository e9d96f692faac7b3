import type pg from "pg";
import { runStatement } from "../run-statement.ts";

/** Rows deleted by one statement, so that a purge holds no lock for long. */
const BATCH = 5_000;

const HISTORY = {
  name: "purge_history",
  text: `delete from call_record where account_id = $1 and (started_at, id) in (
    select started_at, id from call_record where account_id = $1 and connection_id = $2 limit ${BATCH})`,
};
/** Rows of contents deleted by one statement: each may have 128 KiB beside it. */
const CONTENTS_BATCH = 500;
// Without a connection, or when it keeps nothing any more, everything goes.
const CONTENTS = {
  name: "purge_contents",
  text: `delete from call_contents where account_id = $1 and call_id in (
    select call_id from call_contents where account_id = $1 and connection_id = $2 and started_at < coalesce(
      (select keep_contents_since from connection where account_id = $1 and id = $2), 'infinity') limit ${CONTENTS_BATCH})`,
};
const PURGED = {
  name: "purge_done",
  text: "update connection_tombstone set purged_at = now() where account_id = $1 and connection_id = $2 and purged_at is null",
};

/** Deletes rows whose time is over, but for those that another replica is deleting just now. */
function expired(name: string, table: string, key: string, isOver: string, batch = BATCH) {
  const text = `delete from ${table} where (${key}) in (
    select ${key} from ${table} where ${isOver} limit ${batch} for update skip locked)`;
  return { name, text, batch };
}

const EXPIRED = [
  expired("purge_expired_contents", "call_contents", "account_id, call_id", "kept_until < now()", CONTENTS_BATCH),
  expired("purge_revocations", "revocation", "account_id, kind, subject", "expires_at < now()"),
  expired("purge_oidc_payloads", "oidc_payload", "model, id", "expires_at < now()"),
  expired("purge_login_sessions", "login_session", "account_id, id", "expires_at < now()"),
  expired("purge_authorization_requests", "authorization_request", "account_id, id", "expires_at < now()"),
  expired("purge_relay_messages", "relay_message", "account_id, address, id", "expires_at < now()"),
  expired("purge_login_failures", "login_failure", "key", "expire < extract(epoch from now()) * 1000"),
  // What no third party revoked in days of trying: nothing here uses it.
  expired("purge_ended_grants", "connection_grant", "account_id, id", "ended_at < now() - interval '3 days'"),
  expired("purge_idempotency_keys", "idempotency_key", "account_id, key", "expires_at < now()"),
];

/** What goes for good, in batches. Safe to run twice, and on several replicas at once. */
export interface Purge {
  /** The history of a deleted connection, which nobody can read any more. */
  connection(accountId: string, connectionId: number): Promise<void>;
  /** What was said in calls of a connection, as far as it is not kept any more. */
  contents(accountId: string, connectionId: number): Promise<void>;
  /**
   * Rows that have nothing left to say: contents of calls that were kept long enough, expired revocations, OAuth payloads,
   * login sessions, failed logins, authorizations, idempotency keys and messages between replicas. A table that fails does not stop the others; it
   * throws at the end.
   */
  expired(): Promise<void>;
}

/** Purging in PostgreSQL. */
export function createPurge(pool: pg.Pool): Purge {
  async function untilEmpty(
    { name, text }: { name: string; text: string },
    values: readonly unknown[],
    batch = BATCH,
  ): Promise<void> {
    let deleted: number;
    do deleted = (await runStatement(pool, { name, text, values })).rowCount ?? 0;
    while (deleted === batch);
  }

  const purgeContents = (accountId: string, connectionId: number): Promise<void> =>
    untilEmpty(CONTENTS, [accountId, connectionId], CONTENTS_BATCH);

  return {
    async connection(accountId, connectionId) {
      await purgeContents(accountId, connectionId);
      await untilEmpty(HISTORY, [accountId, connectionId]);
      await runStatement(pool, { ...PURGED, values: [accountId, connectionId] });
    },
    contents: purgeContents,
    async expired() {
      const failures: unknown[] = [];
      for (const statement of EXPIRED)
        await untilEmpty(statement, [], statement.batch).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} tables could not be purged`);
    },
  };
}
