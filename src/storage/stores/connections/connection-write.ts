import { randomBytes } from "node:crypto";
import type pg from "pg";
import { connectionScopes, type Connection } from "../../../connections/connection.ts";
import type { Actor } from "../../../identity/actor.ts";
import type {
  AuditedBy,
  ChangeEffects,
  ConnectionStore,
  NewConnection,
} from "../../../connections/connection-store.ts";
import { type CreateKey, toCreated } from "../../../connections/create-once.ts";
import { changedMeanwhile } from "../../../connections/expected-versions.ts";
import { DomainError } from "../../../domain-error.ts";
import type { Sealer } from "../../sealing.ts";
import { transaction } from "../../transaction.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { actorParameter, auditing, recordEvent } from "../identity/audit-event.ts";
import { announce, announceEvent } from "./connection-event.ts";
import { CONNECTION_COLUMNS, type ConnectionRow, sealSecrets, toConnection } from "./connection-row.ts";
import { findUnderKey, type HashedKey, keepUnderKey } from "./idempotency-key.ts";
import { revoke } from "../identity/revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfClient, endSessionsOfConnection } from "../sessions/session-ending.ts";

/** What writing connections needs. */
export interface ConnectionWriteDeps {
  readonly pool: pg.Pool;
  readonly sealer: Sealer;
  /** What is stored in place of a client's secret, or of a request that may hold some. */
  readonly hashSecret: (secret: string) => Buffer;
  /** The most connections an account may have. */
  readonly maxConnections: number;
  /** Puts the verification of a connection's key in the queue, within the transaction. */
  readonly enqueueVerification: (client: pg.PoolClient, connection: Connection) => Promise<void>;
  /** Ends the authorisation that the owner gave at the third party, if there is one, within the transaction. */
  readonly endAuthorization?: (client: pg.PoolClient, accountId: string, connectionId: number) => Promise<void>;
  /**
   * Puts a purge in the queue, within the transaction: of all `history` of a deleted connection, or of the
   * `contents` of its calls that were kept for longer than they may be now.
   */
  readonly enqueuePurge: (
    client: pg.PoolClient,
    accountId: string,
    connectionId: number,
    what: "history" | "contents",
  ) => Promise<void>;
}

/** `updated_at` is the row's version for optimistic changes, so it never stands still and has no part below a millisecond. */
export const NEXT_UPDATED_AT =
  "greatest(date_trunc('milliseconds', clock_timestamp()), updated_at + interval '1 millisecond')";

const INSERT = `with changed as (
    insert into connection (account_id, id, server_type, name, description, access_type, configuration, sealed_secrets,
    has_credential, verification_status, status_reason, oauth_client_id, accept_tool_changes, auth_method, needs_authorization,
    created_at, updated_at)
  values ($1, $2, $3, $4, $5, $6, $7, $8, $9, 'pending', $10, $11, $12, $14, $15,
    date_trunc('milliseconds', clock_timestamp()), date_trunc('milliseconds', clock_timestamp()))
    returning ${CONNECTION_COLUMNS}),
  ${auditing({ action: "connection.create", objectType: "connection", objectName: "changed.name" }, 13)}
  select changed.*, ${announce("created")} from changed`;

/** What was kept for longer than it may be now stays out of reach, even when it may be kept for longer again. */
const KEPT_SINCE = `case when $23::integer = 0 then null
  when keep_contents_days = 0 then date_trunc('milliseconds', clock_timestamp())
  else greatest(keep_contents_since, now() - make_interval(days => $23::integer)) end`;

/** One round trip: changes the row if it is still the one the change was decided on, and announces that. */
const UPDATE = {
  name: "connection_update",
  text: `with changed as (
      update connection set name = $4, description = $5, agent_enabled = $6, access_type = $7, configuration = $8,
        has_credential = $9, verification_status = $10, status_reason = $11, key_version = $12, disabled_tool_ids = $13,
        known_tool_ids = $14, sealed_secrets = case when $15 then $16 else sealed_secrets end,
        accept_tool_changes = $17, tool_pins = case when $18 then null else tool_pins end,
        changed_tools = case when $18 then 0 else changed_tools end, auth_method = $21, needs_authorization = $22,
        wanted_scope = case when $22 then wanted_scope end,
        keep_contents_days = $23::integer, keep_contents_since = ${KEPT_SINCE}, updated_at = ${NEXT_UPDATED_AT}
      where account_id = $1 and id = $2 and updated_at = $3
      returning ${CONNECTION_COLUMNS}),
    ${auditing(
      { action: "connection.update", objectType: "connection", objectName: "changed.name", changed: "$20::text[]" },
      19,
    )}
    select changed.*, ${announce("updated")} from changed`,
};

const DELETE = `with changed as (
    delete from connection
      where account_id = $1 and id = $2 and ($4::timestamptz[] is null or updated_at = any($4::timestamptz[]))
      returning account_id, id, name),
  ${auditing({ action: "connection.delete", objectType: "connection", objectName: "changed.name" }, 3)}
  select ${announce("deleted")} from changed`;

const EXISTS = "select 1 from connection where account_id = $1 and id = $2";

/** The writes of the connection store. Each is whole or nothing. */
export function createConnectionWrites(
  deps: ConnectionWriteDeps,
): Pick<ConnectionStore, "create" | "findCreated" | "createOnce" | "save" | "delete"> {
  const { pool } = deps;

  async function update(
    runner: pg.Pool | pg.PoolClient,
    before: Connection,
    after: Connection,
    effects: ChangeEffects,
    audit: AuditedBy,
  ) {
    const { accountId, id } = before;
    const { secrets } = effects;
    const sealed = secrets === undefined ? null : sealSecrets(deps.sealer, accountId, id, secrets);
    const values = [
      accountId,
      id,
      before.updatedAt,
      after.name,
      after.description,
      after.agentEnabled,
      after.accessType,
      after.configuration,
      after.hasCredential,
      after.verificationStatus,
      after.statusReason ?? null,
      after.keyVersion,
      after.disabledToolIds,
      after.knownToolIds ?? null,
      secrets !== undefined,
      sealed,
      after.acceptToolChanges,
      effects.forgetTools === true || effects.forgetAcceptedDefinitions === true,
      actorParameter(audit.actor),
      audit.fields,
      after.authMethod,
      after.needsAuthorization,
      after.keepContentsDays,
    ];
    const row = (await runStatement<ConnectionRow>(runner, { ...UPDATE, values })).rows[0];
    return row === undefined ? undefined : toConnection(accountId, row);
  }

  /** Within a transaction that holds the account's row, the lock under which its connections are counted. */
  async function insert(client: pg.PoolClient, fresh: NewConnection, actor: Actor): Promise<Connection> {
    const { accountId } = fresh;
    const counted = await client.query<{ count: number; id: number }>(
      "select count(*)::integer as count, nextval('connection_id_seq')::integer as id from connection where account_id = $1",
      [accountId],
    );
    const { count, id } = counted.rows[0] ?? { count: 0, id: 0 };
    if (count >= deps.maxConnections) {
      throw new DomainError(
        "exhausted",
        `An account can have at most ${deps.maxConnections} connections; delete one first.`,
      );
    }
    const oauthClientId = `conn_${id}_${randomBytes(12).toString("base64url")}`;
    const inserted = await client.query<ConnectionRow>(INSERT, [
      accountId,
      id,
      fresh.serverType,
      fresh.name,
      fresh.description,
      fresh.accessType,
      fresh.configuration,
      sealSecrets(deps.sealer, accountId, id, fresh.secrets),
      fresh.hasCredential,
      fresh.statusReason ?? null,
      oauthClientId,
      fresh.acceptToolChanges,
      actorParameter(actor),
      fresh.authMethod,
      fresh.needsAuthorization,
    ]);
    await client.query(
      "insert into oauth_client (account_id, id, connection_id, name, scopes) values ($1, $2, $3, $4, $5)",
      [accountId, oauthClientId, id, fresh.name, connectionScopes(fresh.accessType)],
    );
    const row = inserted.rows[0];
    if (row === undefined) throw new Error("insert into connection returned no row");
    const connection = toConnection(accountId, row);
    await deps.enqueueVerification(client, connection);
    return connection;
  }

  function hashed({ key, request }: CreateKey): HashedKey {
    return { key, requestHash: deps.hashSecret(request) };
  }

  return {
    create: (fresh, actor) =>
      transaction(pool, async (client) => {
        await lockAccount(client, fresh.accountId);
        return insert(client, fresh, actor);
      }),

    findCreated: (accountId, key) => findUnderKey(pool, accountId, hashed(key)),

    createOnce: (fresh, actor, createKey) =>
      transaction(pool, async (client) => {
        const { accountId } = fresh;
        const key = hashed(createKey);
        // Who sends the same request twice at once waits here, and then finds what came of the first.
        await lockAccount(client, accountId);
        const earlier = await findUnderKey(client, accountId, key);
        if (earlier !== undefined) return earlier;
        const created = toCreated(await insert(client, fresh, actor));
        await keepUnderKey(client, accountId, key, created);
        return created;
      }),

    async save(before, after, effects, audit) {
      if (Object.keys(effects).length === 0) return update(pool, before, after, effects, audit);
      return transaction(pool, async (client) => {
        const saved = await update(client, before, after, effects, audit);
        if (saved !== undefined) await applyEffects(deps, client, saved, effects, audit.actor);
        return saved;
      });
    },

    delete: (accountId, id, actor, expected) =>
      transaction(pool, async (client) => {
        await deps.endAuthorization?.(client, accountId, id);
        // Tool lists, the connection's own client and its tokens go with the row (on delete cascade).
        const versions = expected?.map((ms) => new Date(ms)) ?? null;
        const deleted = await client.query(DELETE, [accountId, id, actorParameter(actor), versions]);
        if (deleted.rowCount === 0) {
          const found = expected && (await client.query(EXISTS, [accountId, id]));
          if (found?.rowCount === 1) throw changedMeanwhile();
          return false;
        }
        await client.query("insert into connection_tombstone (account_id, connection_id) values ($1, $2)", [
          accountId,
          id,
        ]);
        await endSessionsOfConnection(client, accountId, id);
        await revoke(client, { accountId, kind: "connection", subject: String(id) });
        await deps.enqueuePurge(client, accountId, id, "history");
        return true;
      }),
  };
}

async function applyEffects(
  deps: ConnectionWriteDeps,
  client: pg.PoolClient,
  connection: Connection,
  effects: ChangeEffects,
  actor: Actor,
): Promise<void> {
  const { accountId, id, oauthClientId } = connection;
  if (effects.clientScopes !== undefined) {
    await client.query("update oauth_client set scopes = $3 where account_id = $1 and id = $2", [
      accountId,
      oauthClientId,
      effects.clientScopes,
    ]);
  }
  if (effects.clientSecret !== undefined) {
    await client.query("update oauth_client set secret_hash = $3 where account_id = $1 and id = $2", [
      accountId,
      oauthClientId,
      deps.hashSecret(effects.clientSecret),
    ]);
  }
  if (effects.forgetTools === true) {
    await client.query("delete from tool_list where account_id = $1 and connection_id = $2", [accountId, id]);
    await announceEvent(client, { accountId, connectionId: id, event: "tools" });
  }
  if (effects.endAuthorization === true) await deps.endAuthorization?.(client, accountId, id);
  if (effects.contentsChange !== undefined) {
    await recordEvent(client, {
      accountId,
      action: effects.contentsChange === "on" ? "connection.keep_contents" : "connection.stop_keeping_contents",
      outcome: "ok",
      actor,
      objectType: "connection",
      objectId: String(id),
      objectName: connection.name,
      changed: ["keep_contents_days"],
    });
  }
  if (effects.purgeContents === true) await deps.enqueuePurge(client, accountId, id, "contents");
  if (effects.verify === true) await deps.enqueueVerification(client, connection);
  if (effects.endClientAccess === true) {
    await endSessionsOfClient(client, accountId, oauthClientId);
    // Last, so that nothing it would wait for comes between the bound and the commit.
    await revoke(client, { accountId, kind: "client", subject: oauthClientId, issuedBefore: new Date() });
  }
}
