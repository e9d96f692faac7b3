import { sql } from "kysely";
import type pg from "pg";
import { type DeleteInBatches, deleteInBatches } from "../../statements/batch-delete.ts";
import { prepare } from "../../statements/prepare.ts";

interface OfConnection {
  readonly accountId: string;
  readonly connectionId: number;
}

const deleteHistory = deleteInBatches(
  "purge_history",
  "call_record",
  ["account_id", "started_at", "id"],
  (given: OfConnection) => sql`account_id = ${given.accountId} and connection_id = ${given.connectionId}`,
);

// Deletes all contents if the connection is gone or stores no contents any more.
const deleteContents = deleteInBatches(
  "purge_contents",
  "call_contents",
  ["account_id", "call_id"],
  (given: OfConnection) => sql`account_id = ${given.accountId} and connection_id = ${given.connectionId}
    and started_at < coalesce((select keep_contents_since from connection
      where account_id = ${given.accountId} and id = ${given.connectionId}), 'infinity')`,
);

const markPurged = prepare("purge_done", (tables, given: OfConnection) =>
  tables
    .updateTable("connection_tombstone")
    .set({ purged_at: sql`now()` })
    .where(({ and }) => and({ account_id: given.accountId, connection_id: given.connectionId }))
    .where("purged_at", "is", null),
);

const isExpired = () => sql<boolean>`expires_at < now()`;

const EXPIRED: readonly DeleteInBatches<object>[] = [
  deleteInBatches("purge_expired_contents", "call_contents", ["account_id", "call_id"], () => sql`kept_until < now()`),
  deleteInBatches("purge_revocations", "revocation", ["account_id", "kind", "subject"], isExpired),
  deleteInBatches("purge_oidc_payloads", "oidc_payload", ["model", "id"], isExpired),
  deleteInBatches("purge_login_sessions", "login_session", ["account_id", "id"], isExpired),
  deleteInBatches("purge_authorization_requests", "authorization_request", ["account_id", "id"], isExpired),
  deleteInBatches(
    "purge_login_failures",
    "login_failure",
    ["key"],
    () => sql`expire < extract(epoch from now()) * 1000`,
  ),
  // Tokens that the vendor has not revoked after days of attempts. This service no longer uses them.
  deleteInBatches(
    "purge_ended_grants",
    "connection_grant",
    ["account_id", "id"],
    () => sql`ended_at < now() - interval '3 days'`,
  ),
  deleteInBatches("purge_idempotency_keys", "idempotency_key", ["account_id", "key"], isExpired),
  deleteInBatches(
    "purge_webhook_deliveries",
    "webhook_delivery",
    ["account_id", "id"],
    () => sql`created_at < now() - interval '30 days' and status <> 'pending'`,
  ),
  deleteInBatches("purge_relay_messages", "relay_message", ["account_id", "address", "id"], isExpired),
  deleteInBatches("purge_mcp_tasks", "mcp_task", ["account_id", "id"], isExpired),
];

/** Deletes data permanently, in batches. Safe to run repeatedly and on several replicas at once. */
export interface Purge {
  /** Deletes the history of a deleted connection, which is already unreadable. */
  connection(accountId: string, connectionId: number): Promise<void>;
  /** Deletes call contents of a connection that exceed its retention. */
  contents(accountId: string, connectionId: number): Promise<void>;
  /**
   * Deletes expired rows: call contents, revocations, OAuth payloads, login sessions, failed logins, authorizations,
   * idempotency keys, webhook deliveries, messages between replicas and tasks. Continues if a table fails, and throws at
   * the end.
   */
  expired(): Promise<void>;
}

/** Purging in PostgreSQL. */
export function createPurge(pool: pg.Pool): Purge {
  return {
    async connection(accountId, connectionId) {
      const given = { accountId, connectionId };
      await deleteContents(pool, given);
      await deleteHistory(pool, given);
      await markPurged(pool, given);
    },
    async contents(accountId, connectionId) {
      await deleteContents(pool, { accountId, connectionId });
    },
    async expired() {
      const failures: unknown[] = [];
      for (const deleteExpired of EXPIRED)
        await deleteExpired(pool, {}).catch((error: unknown) => failures.push(error));
      if (failures.length > 0) throw new AggregateError(failures, `${failures.length} tables could not be purged`);
    },
  };
}
