import type pg from "pg";
import { runStatement } from "./run-statement.ts";

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
const EXPIRED_CONTENTS = {
  name: "purge_expired_contents",
  text: `delete from call_contents where (account_id, call_id) in (
    select account_id, call_id from call_contents where kept_until < now() limit ${CONTENTS_BATCH} for update skip locked)`,
};
const PURGED = {
  name: "purge_done",
  text: "update connection_tombstone set purged_at = now() where account_id = $1 and connection_id = $2 and purged_at is null",
};
const EXPIRED_REVOCATIONS = {
  name: "purge_revocations",
  text: `delete from revocation where (account_id, kind, subject) in (
    select account_id, kind, subject from revocation where expires_at < now() limit ${BATCH} for update skip locked)`,
};
const EXPIRED_PAYLOADS = {
  name: "purge_oidc_payloads",
  text: `delete from oidc_payload where (model, id) in (
    select model, id from oidc_payload where expires_at < now() limit ${BATCH} for update skip locked)`,
};

const EXPIRED_LOGIN_SESSIONS = {
  name: "purge_login_sessions",
  text: `delete from login_session where (account_id, id) in (
    select account_id, id from login_session where expires_at < now() limit ${BATCH} for update skip locked)`,
};
const EXPIRED_AUTHORIZATIONS = {
  name: "purge_authorization_requests",
  text: `delete from authorization_request where (account_id, id) in (
    select account_id, id from authorization_request where expires_at < now() limit ${BATCH} for update skip locked)`,
};
const EXPIRED_LOGIN_FAILURES = {
  name: "purge_login_failures",
  text: `delete from login_failure where key in (
    select key from login_failure where expire < extract(epoch from now()) * 1000 limit ${BATCH} for update skip locked)`,
};
const EXPIRED_IDEMPOTENCY_KEYS = {
  name: "purge_idempotency_keys",
  text: `delete from idempotency_key where (account_id, key) in (
    select account_id, key from idempotency_key where expires_at < now() limit ${BATCH} for update skip locked)`,
};

/** What no third party revoked in days of trying: nothing here uses it. */
const ENDED_GRANTS = {
  name: "purge_ended_grants",
  text: `delete from connection_grant where (account_id, id) in (
    select account_id, id from connection_grant where ended_at < now() - interval '3 days' limit ${BATCH} for update skip locked)`,
};

/** What goes for good, in batches. Safe to run twice, and on several replicas at once. */
export interface Purge {
  /** The history of a deleted connection, which nobody can read any more. */
  connection(accountId: string, connectionId: number): Promise<void>;
  /** What was said in calls of a connection, as far as it is not kept any more. */
  contents(accountId: string, connectionId: number): Promise<void>;
  /**
   * Rows that have nothing left to say: contents of calls that were kept long enough, expired revocations, OAuth payloads,
   * login sessions, failed logins, authorizations and idempotency keys.
   */
  expired(): Promise<void>;
}

/** Purging in PostgreSQL. */
export function createPurge(pool: pg.Pool): Purge {
  async function untilEmpty(
    statement: { name: string; text: string },
    values: readonly unknown[],
    batch = BATCH,
  ): Promise<void> {
    let deleted: number;
    do deleted = (await runStatement(pool, { ...statement, values })).rowCount ?? 0;
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
      await untilEmpty(EXPIRED_CONTENTS, [], CONTENTS_BATCH);
      await untilEmpty(EXPIRED_REVOCATIONS, []);
      await untilEmpty(EXPIRED_PAYLOADS, []);
      await untilEmpty(EXPIRED_LOGIN_SESSIONS, []);
      await untilEmpty(EXPIRED_AUTHORIZATIONS, []);
      await untilEmpty(EXPIRED_LOGIN_FAILURES, []);
      await untilEmpty(ENDED_GRANTS, []);
      await untilEmpty(EXPIRED_IDEMPOTENCY_KEYS, []);
    },
  };
}
