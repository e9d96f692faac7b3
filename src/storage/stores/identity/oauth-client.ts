import type { EntityData, InferEntity } from "@mikro-orm/core";
import { type EntityManager, raw } from "@mikro-orm/postgresql";
import { DomainError } from "../../../domain-error.ts";
import type { Actor } from "../../../identity/actor.ts";
import type { AuditAction } from "../../../identity/audit/audit-event.ts";
import type { OAuthClient, OAuthClientStore } from "../../../identity/clients/oauth-client.ts";
import { OauthClientEntity } from "../../entities/identity/oauth-client.ts";
import { SessionEntity } from "../../entities/sessions/session.ts";
import { inTransaction, now, type Orm, withEntities } from "../../orm.ts";
import { runnerOf } from "../run-statement.ts";
import { lockAccount } from "./account-lock.ts";
import { recordEvent } from "./audit-event.ts";
import { revoke } from "./revocation.ts";

type ClientRow = InferEntity<typeof OauthClientEntity>;

function toClient(row: ClientRow): OAuthClient {
  const { previousSecretUntil } = row;
  return {
    accountId: row.accountId,
    memberId: row.memberId ?? undefined,
    id: row.id,
    connectionId: row.connectionId ?? undefined,
    name: row.name,
    scopes: row.scopes,
    redirectUris: row.redirectUris,
    grantTypes: row.grantTypes,
    tokenEndpointAuthMethod: row.tokenEndpointAuthMethod,
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwksUri ?? undefined,
    hasSecret: Boolean(row.secretHash),
    createdAt: row.createdAt,
    secretRotatedAt: row.secretRotatedAt ?? undefined,
    previousSecretUntil: previousSecretUntil && previousSecretUntil > new Date() ? previousSecretUntil : undefined,
    revokedAt: row.revokedAt ?? undefined,
  };
}

function event(
  { accountId, id, name }: Pick<ClientRow, "accountId" | "id" | "name">,
  action: AuditAction,
  actor: Actor,
) {
  return { accountId, action, actor, objectType: "oauth_client", objectId: id, objectName: name } as const;
}

/** Changes an active client that belongs to no connection. Returns undefined if there is none. */
async function change(em: EntityManager, accountId: string, id: string, data: EntityData<ClientRow>) {
  const isOwn = { accountId, id, revokedAt: null, connectionId: null };
  if ((await em.nativeUpdate(OauthClientEntity, isOwn, data)) === 0) return undefined;
  return await em.findOneOrFail(OauthClientEntity, { accountId, id });
}

/** OAuth clients in PostgreSQL, for their owners. */
export function createOAuthClientStore(orm: Orm): OAuthClientStore {
  return {
    insert: (fresh, limit, actor) =>
      inTransaction(orm, async (em) => {
        const { accountId, memberId = null } = fresh;
        await lockAccount(em, accountId, memberId);
        const count = await em.count(OauthClientEntity, { accountId, memberId, connectionId: null, revokedAt: null });
        if (count >= limit)
          throw new DomainError("exhausted", `An account can have at most ${limit} OAuth clients; revoke one first.`);
        const client = em.create(OauthClientEntity, {
          ...fresh,
          memberId,
          secretHash: fresh.secretHash ?? null,
          scopes: [...fresh.scopes],
          redirectUris: [...fresh.redirectUris],
          grantTypes: [...fresh.grantTypes],
          jwks: fresh.jwks ?? null,
          jwksUri: fresh.jwksUri ?? null,
        });
        recordEvent(em, event(client, "oauth_client.create", actor));
        await em.flush();
        return toClient(client);
      }),
    async find(accountId, id) {
      const client = await withEntities(orm, (em) => em.findOne(OauthClientEntity, { accountId, id }));
      return client === null ? undefined : toClient(client);
    },
    async list(accountId, { connectionIds, memberId, includesRevoked }, limit, offset) {
      const where = {
        accountId,
        ...(memberId === undefined ? {} : { memberId }),
        ...(includesRevoked ? {} : { revokedAt: null }),
        ...(connectionIds === undefined ? {} : { connectionId: { $in: [...connectionIds] } }),
      };
      const options = { orderBy: { createdAt: "asc", id: "asc" }, limit, offset } as const;
      const [clients, totalCount] = await withEntities(orm, (em) => em.findAndCount(OauthClientEntity, where, options));
      return { clients: clients.map(toClient), totalCount };
    },
    update: (accountId, id, { name, redirectUris }, changed, actor) =>
      inTransaction(orm, async (em) => {
        const client = await change(em, accountId, id, { name, redirectUris: [...redirectUris] });
        if (client === undefined) return undefined;
        recordEvent(em, { ...event(client, "oauth_client.update", actor), changed });
        return toClient(client);
      }),
    rotateSecret: (accountId, id, secretHash, graceSeconds, actor) =>
      inTransaction(orm, async (em) => {
        const keepsOld = graceSeconds > 0;
        const client = await change(em, accountId, id, {
          secretHash,
          secretRotatedAt: now(),
          previousSecretHash: keepsOld ? raw("secret_hash") : null,
          previousSecretUntil: keepsOld ? raw("clock_timestamp() + make_interval(secs => ?)", [graceSeconds]) : null,
        });
        if (client === undefined) return undefined;
        recordEvent(em, { ...event(client, "oauth_client.rotate_secret", actor), changed: ["client_secret"] });
        if (!keepsOld) {
          await em.nativeDelete(SessionEntity, { accountId, clientId: id });
          await revoke(runnerOf(em), { accountId, kind: "client", subject: id, issuedBefore: new Date() });
        }
        return toClient(client);
      }),
    revoke: (accountId, id, actor) =>
      inTransaction(orm, async (em) => {
        const data = { revokedAt: now(), previousSecretHash: null, previousSecretUntil: null };
        const client = await change(em, accountId, id, data);
        if (client === undefined) return false;
        recordEvent(em, event(client, "oauth_client.revoke", actor));
        await em.nativeDelete(SessionEntity, { accountId, clientId: id });
        await revoke(runnerOf(em), { accountId, kind: "client", subject: id });
        return true;
      }),
  };
}
