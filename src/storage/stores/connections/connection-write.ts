import { randomBytes } from "node:crypto";
import { type EntityManager, LockMode, raw } from "@mikro-orm/postgresql";
import { sql } from "kysely";
import { freeAlias } from "../../../connections/alias.ts";
import { connectionScopes, type Connection } from "../../../connections/connection.ts";
import type {
  AuditedBy,
  ChangeEffects,
  ConnectionStore,
  NewConnection,
} from "../../../connections/connection-store.ts";
import { type CreateKey, toCreated } from "../../../connections/create-once.ts";
import {
  connectionChanged,
  connectionCreated,
  connectionDeleted,
} from "../../../connections/connection-webhook-event.ts";
import { changedMeanwhile } from "../../../connections/expected-versions.ts";
import { DomainError } from "../../../domain-error.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import type { Database } from "../../database.ts";
import { ConnectionEntity } from "../../entities/connections/connection.ts";
import { ConnectionTombstoneEntity } from "../../entities/connections/connection-tombstone.ts";
import { OauthClientEntity } from "../../entities/identity/oauth-client.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { ToolListEntity } from "../../entities/tools/tool-list.ts";
import { inTransaction, tablesOf, withEntities } from "../../orm.ts";
import type { StatementRunner } from "../../pool/reads.ts";
import type { Sealer } from "../../sealing.ts";
import { actorParameter } from "../../statements/audited.ts";
import { updateConnection } from "../../statements/connection.ts";
import { lockAccount } from "../identity/account-lock.ts";
import { type ChangeEvent, recordEvent } from "../identity/audit-event.ts";
import { revoke } from "../identity/revocation.ts";
import { runnerOf } from "../run-statement.ts";
import type { WebhookOutbox } from "../webhooks/webhook-outbox.ts";
import { aliasesOf, claimAlias } from "./connection-alias.ts";
import { announceEvent } from "./connection-event.ts";
import { sealSecrets, toConnection } from "./connection-row.ts";
import { findUnderKey, type HashedKey, keepUnderKey } from "./idempotency-key.ts";

/** The dependencies for writing connections. */
export interface ConnectionWriteDeps extends Pick<Database, "orm" | "pool"> {
  readonly sealer: Sealer;
  /** Returns the digest that is stored in place of a client secret, or of a request that may contain secrets. */
  readonly hashSecret: (secret: string) => Buffer;
  /** The maximum number of connections per account. */
  readonly maxConnections: number;
  /** Enqueues the verification of a connection's key, within the transaction. */
  readonly enqueueVerification: (em: EntityManager, connection: Connection) => Promise<void>;
  /** Stores webhook events, within the transaction. Without it, no events are stored. */
  readonly webhooks?: WebhookOutbox;
  /** Deletes the owner's authorization, if there is one, within the transaction. */
  readonly endAuthorization?: (em: EntityManager, accountId: string, connectionId: number) => Promise<void>;
  /**
   * Enqueues a purge, within the transaction: `history` deletes all calls of a deleted connection; `contents` deletes
   * the call contents that exceed the retention.
   */
  readonly enqueuePurge: (
    em: EntityManager,
    accountId: string,
    connectionId: number,
    what: "history" | "contents",
  ) => Promise<void>;
}

/** An audit event that concerns a connection. */
export function connectionEvent(
  { accountId, id, name }: Pick<Connection, "accountId" | "id" | "name">,
  action: AuditAction,
  actor: Actor,
): ChangeEvent {
  return { accountId, action, actor, objectType: "connection", objectId: String(id), objectName: name };
}

/** The writes of the connection store. Each is atomic. */
export function createConnectionWrites(
  deps: ConnectionWriteDeps,
): Pick<ConnectionStore, "create" | "findCreated" | "createOnce" | "save" | "delete"> {
  const { orm, pool } = deps;

  async function update(
    runner: StatementRunner,
    before: Connection,
    after: Connection,
    effects: ChangeEffects,
    { actor, fields }: AuditedBy,
  ) {
    const { accountId, id } = before;
    const { secrets } = effects;
    const { rows } = await updateConnection(runner, {
      ...after,
      accountId,
      id,
      version: before.updatedAt,
      replacesSecrets: secrets !== undefined,
      sealedSecrets: secrets === undefined ? null : sealSecrets(deps.sealer, accountId, id, secrets),
      forgetsAcceptedDefinitions: effects.forgetTools === true || effects.forgetAcceptedDefinitions === true,
      actor: actorParameter(actor),
      fields,
    });
    return rows[0] && toConnection(accountId, rows[0]);
  }

  /** Must run in a transaction that holds the lock on the account's row, under which its connections are counted. */
  async function insert(em: EntityManager, fresh: NewConnection, actor: Actor): Promise<Connection> {
    const { accountId, secrets, configuration, statusReason, ...fields } = fresh;
    const { count, id, now } = await tablesOf(em)
      .selectFrom("connection")
      .select([
        sql<number>`count(*)::integer`.as("count"),
        sql<number>`nextval('connection_id_seq')::integer`.as("id"),
        sql<Date>`clock_timestamp()`.as("now"),
      ])
      .where("account_id", "=", accountId)
      .executeTakeFirstOrThrow();
    if (count >= deps.maxConnections) {
      throw new DomainError(
        "exhausted",
        `An account can have at most ${deps.maxConnections} connections; delete one first.`,
      );
    }
    const oauthClientId = `conn_${id}_${randomBytes(12).toString("base64url")}`;
    const row = em.create(ConnectionEntity, {
      ...fields,
      accountId,
      id,
      alias: freeAlias(fresh, new Set((await aliasesOf(em, accountId)).map(({ alias }) => alias))),
      configuration,
      sealedSecrets: sealSecrets(deps.sealer, accountId, id, secrets),
      verificationStatus: "pending",
      statusReason: statusReason ?? null,
      oauthClientId,
      createdAt: now,
      updatedAt: now,
    });
    const scopes = [...connectionScopes(fresh.accessType)];
    em.create(OauthClientEntity, { accountId, id: oauthClientId, connectionId: id, name: fresh.name, scopes });
    recordEvent(em, connectionEvent(row, "connection.create", actor));
    await em.flush();
    const connection = toConnection(accountId, row);
    await announceEvent(em, { accountId, connectionId: id, event: "created" });
    await deps.enqueueVerification(em, connection);
    await deps.webhooks?.record(em, connectionCreated(connection));
    return connection;
  }

  function hashed({ key, request }: CreateKey): HashedKey {
    return { key, requestHash: deps.hashSecret(request) };
  }

  return {
    create: (fresh, actor) =>
      inTransaction(orm, async (em) => {
        await lockAccount(em, fresh.accountId);
        return insert(em, fresh, actor);
      }),

    findCreated: (accountId, key) => withEntities(orm, (em) => findUnderKey(em, accountId, hashed(key))),

    createOnce: (fresh, actor, createKey) =>
      inTransaction(orm, async (em) => {
        const { accountId } = fresh;
        const key = hashed(createKey);
        // A concurrent request with the same key waits here and then finds the result of the first one.
        await lockAccount(em, accountId);
        const earlier = await findUnderKey(em, accountId, key);
        if (earlier !== undefined) return earlier;
        const created = toCreated(await insert(em, fresh, actor));
        await keepUnderKey(em, accountId, key, created);
        return created;
      }),

    async save(before, after, effects, audit) {
      if (Object.keys(effects).length === 0) return update(pool, before, after, effects, audit);
      return inTransaction(orm, async (em) => {
        if (effects.claimAlias === true) await claimAlias(em, after);
        const saved = await update(runnerOf(em), before, after, effects, audit);
        if (saved === undefined) return undefined;
        const event = connectionChanged(before, saved);
        if (event !== undefined) await deps.webhooks?.record(em, event);
        await applyEffects(deps, em, saved, effects, audit.actor);
        return saved;
      });
    },

    delete: (accountId, id, actor, expected) =>
      inTransaction(orm, async (em) => {
        await deps.endAuthorization?.(em, accountId, id);
        const lock = { lockMode: LockMode.PESSIMISTIC_WRITE };
        const found = await em.findOne(ConnectionEntity, { accountId, id }, lock);
        if (found === null) return false;
        if (expected !== undefined && !expected.includes(found.updatedAt.getTime())) throw changedMeanwhile();
        // The tool list, the client and the tokens of the connection are deleted with the row (on delete cascade).
        em.remove(found);
        em.create(ConnectionTombstoneEntity, { accountId, connectionId: id });
        recordEvent(em, connectionEvent(found, "connection.delete", actor));
        await em.flush();
        await announceEvent(em, { accountId, connectionId: id, event: "deleted" });
        await deps.webhooks?.record(em, connectionDeleted(toConnection(accountId, found)));
        const hasCalled = { [raw("? = any (called_connection_ids)", [id])]: true };
        await em.nativeDelete(SessionEntity, { accountId, $or: [{ connectionId: id }, hasCalled] });
        await revoke(runnerOf(em), { accountId, kind: "connection", subject: String(id) });
        await deps.enqueuePurge(em, accountId, id, "history");
        return true;
      }),
  };
}

async function applyEffects(
  deps: ConnectionWriteDeps,
  em: EntityManager,
  connection: Connection,
  effects: ChangeEffects,
  actor: Actor,
): Promise<void> {
  const { accountId, id, oauthClientId } = connection;
  const { clientScopes, clientSecret, contentsChange } = effects;
  const own = { accountId, id: oauthClientId };
  if (clientScopes !== undefined) await em.nativeUpdate(OauthClientEntity, own, { scopes: [...clientScopes] });
  if (clientSecret !== undefined)
    await em.nativeUpdate(OauthClientEntity, own, { secretHash: deps.hashSecret(clientSecret) });
  if (effects.forgetTools === true) {
    await em.nativeDelete(ToolListEntity, { accountId, connectionId: id });
    await announceEvent(em, { accountId, connectionId: id, event: "tools" });
  }
  if (effects.endAuthorization === true) await deps.endAuthorization?.(em, accountId, id);
  if (contentsChange !== undefined) {
    const action = contentsChange === "on" ? "connection.keep_contents" : "connection.stop_keeping_contents";
    recordEvent(em, { ...connectionEvent(connection, action, actor), changed: ["keep_contents_days"] });
  }
  if (effects.purgeContents === true) await deps.enqueuePurge(em, accountId, id, "contents");
  if (effects.verify === true) await deps.enqueueVerification(em, connection);
  if (effects.endClientAccess === true) {
    await em.nativeDelete(SessionEntity, { accountId, clientId: oauthClientId });
    // Must be the last statement, so that no lock wait comes between the revocation's bound and the commit.
    await revoke(runnerOf(em), { accountId, kind: "client", subject: oauthClientId, issuedBefore: new Date() });
  }
}
