import type pg from "pg";
import type { ClientAuthMethod } from "../../../identity/clients/oauth-client.ts";
import type { GrantType, OAuthClient, OAuthClientStore } from "../../../identity/clients/oauth-client.ts";
import type { Scope } from "../../../identity/scopes.ts";
import { DomainError } from "../../../domain-error.ts";
import type { JsonObject } from "../../../json.ts";
import { transaction } from "../../transaction.ts";
import { lockAccount } from "./account-lock.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfClient } from "../sessions/session-ending.ts";

interface ClientRow {
  account_id: string;
  id: string;
  connection_id: number | null;
  name: string;
  scopes: Scope[];
  redirect_uris: string[];
  grant_types: GrantType[];
  token_endpoint_auth_method: ClientAuthMethod;
  jwks: JsonObject | null;
  jwks_uri: string | null;
  has_secret: boolean;
  created_at: Date;
  secret_rotated_at: Date | null;
  previous_secret_until: Date | null;
  revoked_at: Date | null;
}

/** Never the hashes. */
const COLUMNS = `account_id, id, connection_id, name, scopes, redirect_uris, grant_types, token_endpoint_auth_method, jwks, jwks_uri,
  secret_hash is not null as has_secret, created_at, secret_rotated_at,
  case when previous_secret_until > clock_timestamp() then previous_secret_until end as previous_secret_until, revoked_at`;

function toClient(row: ClientRow): OAuthClient {
  return {
    accountId: row.account_id,
    id: row.id,
    connectionId: row.connection_id ?? undefined,
    name: row.name,
    scopes: row.scopes,
    redirectUris: row.redirect_uris,
    grantTypes: row.grant_types,
    tokenEndpointAuthMethod: row.token_endpoint_auth_method,
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwks_uri ?? undefined,
    hasSecret: row.has_secret,
    createdAt: row.created_at,
    secretRotatedAt: row.secret_rotated_at ?? undefined,
    previousSecretUntil: row.previous_secret_until ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  };
}

const COUNT = `select count(*)::integer as count from oauth_client
  where account_id = $1 and connection_id is null and revoked_at is null`;

const INSERT = `
  with changed as (
    insert into oauth_client (account_id, id, secret_hash, name, scopes, redirect_uris, grant_types,
      token_endpoint_auth_method, jwks, jwks_uri)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
    returning ${COLUMNS}),
  ${auditing({ action: "oauth_client.create", objectType: "oauth_client", objectName: "changed.name" }, 11)}
  select * from changed`;

const FIND = {
  name: "oauth_client_find",
  text: `select ${COLUMNS} from oauth_client where account_id = $1 and id = $2`,
};

const SELECTED = `account_id = $1 and ($2 or revoked_at is null) and ($3::integer[] is null or connection_id = any ($3))`;

const LIST = {
  name: "oauth_client_list",
  text: `select ${COLUMNS}, count(*) over ()::integer as total_count from oauth_client where ${SELECTED}
    order by created_at, id limit $4 offset $5`,
};
const COUNT_ALL = {
  name: "oauth_client_count",
  text: `select count(*)::integer as total_count from oauth_client where ${SELECTED}`,
};

const UPDATE = {
  name: "oauth_client_update",
  text: `with changed as (
      update oauth_client set name = $3, redirect_uris = $4
      where account_id = $1 and id = $2 and revoked_at is null and connection_id is null
      returning ${COLUMNS}),
    ${auditing(
      { action: "oauth_client.update", objectType: "oauth_client", objectName: "changed.name", changed: "$5::text[]" },
      6,
    )}
    select * from changed`,
};

const ROTATE = `
  with changed as (
    update oauth_client set secret_hash = $3, secret_rotated_at = now(),
      previous_secret_hash = case when $4 > 0 then secret_hash end,
      previous_secret_until = case when $4 > 0 then clock_timestamp() + make_interval(secs => $4) end
    where account_id = $1 and id = $2 and revoked_at is null and connection_id is null
    returning ${COLUMNS}),
  ${auditing(
    {
      action: "oauth_client.rotate_secret",
      objectType: "oauth_client",
      objectName: "changed.name",
      changed: "array['client_secret']",
    },
    5,
  )}
  select * from changed`;

const REVOKE = `
  with changed as (
    update oauth_client set revoked_at = now(), previous_secret_hash = null, previous_secret_until = null
    where account_id = $1 and id = $2 and revoked_at is null and connection_id is null
    returning account_id, id, name),
  ${auditing({ action: "oauth_client.revoke", objectType: "oauth_client", objectName: "changed.name" }, 3)}
  select id from changed`;

/** OAuth clients in PostgreSQL, for their owners. */
export function createOAuthClientStore(pool: pg.Pool): OAuthClientStore {
  return {
    insert: (fresh, limit, actor) =>
      transaction(pool, async (client) => {
        await lockAccount(client, fresh.accountId);
        const counted = await client.query<{ count: number }>(COUNT, [fresh.accountId]);
        if ((counted.rows[0]?.count ?? 0) >= limit)
          throw new DomainError("exhausted", `An account can have at most ${limit} OAuth clients; revoke one first.`);
        const { rows } = await client.query<ClientRow>(INSERT, [
          fresh.accountId,
          fresh.id,
          fresh.secretHash ?? null,
          fresh.name,
          fresh.scopes,
          fresh.redirectUris,
          fresh.grantTypes,
          fresh.tokenEndpointAuthMethod,
          fresh.jwks ?? null,
          fresh.jwksUri ?? null,
          actorParameter(actor),
        ]);
        if (rows[0] === undefined) throw new Error("insert into oauth_client returned no row");
        return toClient(rows[0]);
      }),
    async find(accountId, id) {
      const { rows } = await runStatement<ClientRow>(pool, { ...FIND, values: [accountId, id] });
      return rows[0] && toClient(rows[0]);
    },
    async list(accountId, { connectionIds, includesRevoked }, limit, offset) {
      const selected = [accountId, includesRevoked, connectionIds ?? null];
      const page = { ...LIST, values: [...selected, limit, offset] };
      const { rows } = await runStatement<ClientRow & { total_count: number }>(pool, page);
      if (rows[0] !== undefined) return { clients: rows.map(toClient), totalCount: rows[0].total_count };
      const counted = await runStatement<{ total_count: number }>(pool, { ...COUNT_ALL, values: selected });
      return { clients: [], totalCount: counted.rows[0]?.total_count ?? 0 };
    },
    async update(accountId, id, { name, redirectUris }, changed, actor) {
      const values = [accountId, id, name, redirectUris, changed, actorParameter(actor)];
      const { rows } = await runStatement<ClientRow>(pool, { ...UPDATE, values });
      return rows[0] && toClient(rows[0]);
    },
    rotateSecret: (accountId, id, secretHash, graceSeconds, actor) =>
      transaction(pool, async (client) => {
        const values = [accountId, id, secretHash, graceSeconds, actorParameter(actor)];
        const row = (await client.query<ClientRow>(ROTATE, values)).rows[0];
        if (row !== undefined && graceSeconds === 0) {
          await endSessionsOfClient(client, accountId, id);
          await revoke(client, { accountId, kind: "client", subject: id, issuedBefore: new Date() });
        }
        return row && toClient(row);
      }),
    revoke: (accountId, id, actor) =>
      transaction(pool, async (client) => {
        const { rowCount } = await client.query(REVOKE, [accountId, id, actorParameter(actor)]);
        if (rowCount !== 1) return false;
        await endSessionsOfClient(client, accountId, id);
        await revoke(client, { accountId, kind: "client", subject: id });
        return true;
      }),
  };
}
