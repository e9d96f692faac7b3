import type pg from "pg";
import type { ClientStore, TokenClient } from "../../../identity/clients/clients.ts";
import type { ClientAuthMethod } from "../../../identity/clients/oauth-client.ts";
import type { OAuthClientStore } from "../../../identity/clients/oauth-client.ts";
import type { Scope } from "../../../identity/scopes.ts";
import type { JsonObject } from "../../../json.ts";
import { createOAuthClientStore } from "./oauth-client.ts";
import { runStatement } from "../run-statement.ts";

interface TokenClientRow {
  account_id: string;
  id: string;
  connection_id: number | null;
  secret_hash: Buffer | null;
  previous_secret_hash: Buffer | null;
  scopes: Scope[];
  name: string;
  redirect_uris: string[];
  grant_types: string[];
  token_endpoint_auth_method: ClientAuthMethod;
  jwks: JsonObject | null;
  jwks_uri: string | null;
  moment: number;
}

function toTokenClient(row: TokenClientRow): TokenClient {
  return {
    accountId: row.account_id,
    clientId: row.id,
    connectionId: row.connection_id ?? undefined,
    secretHash: row.secret_hash ?? undefined,
    previousSecretHash: row.previous_secret_hash ?? undefined,
    scopes: row.scopes,
    name: row.name,
    redirectUris: row.redirect_uris,
    grantTypes: row.grant_types,
    tokenEndpointAuthMethod: row.token_endpoint_auth_method,
    jwks: row.jwks ?? undefined,
    jwksUri: row.jwks_uri ?? undefined,
    issuedAt: row.moment,
  };
}

/**
 * One snapshot of the client, its scopes and the revocations that touch it. Whoever sees a revocation here sees the scopes
 * written with it, so the tokens count as issued one microsecond after its bound; whoever does not see it yet gets the
 * clock's moment, which is before the bound.
 */
const FOR_TOKEN = `
  select client.account_id, client.id, client.connection_id, client.secret_hash, client.scopes, client.name,
    client.redirect_uris, client.grant_types, client.token_endpoint_auth_method, client.jwks, client.jwks_uri,
    case when client.previous_secret_until > clock_timestamp() then client.previous_secret_hash end as previous_secret_hash,
    greatest(
      (extract(epoch from clock_timestamp()) * 1000000)::bigint,
      (select (extract(epoch from max(issued_before)) * 1000000)::bigint + 1 from revocation
        where revocation.account_id = client.account_id and (kind, subject) in
          (('client', client.id), ('connection', client.connection_id::text), ('account', client.account_id)))
    ) as moment
  from oauth_client as client join account on account.id = client.account_id
  where client.id = $1 and client.revoked_at is null and account.disabled_at is null`;

const OWNER = "select account_id from oauth_client where id = $1 and revoked_at is null";

/** OAuth clients in PostgreSQL, as the token endpoint looks them up and as their owners use them. */
export function createClientStore(pool: pg.Pool): ClientStore & OAuthClientStore {
  return {
    ...createOAuthClientStore(pool),
    async findForToken(clientId) {
      const statement = { name: "client_for_token", text: FOR_TOKEN, values: [clientId] };
      const row = (await runStatement<TokenClientRow>(pool, statement)).rows[0];
      return row === undefined ? undefined : toTokenClient(row);
    },
    async findOwner(clientId) {
      const statement = { name: "client_owner", text: OWNER, values: [clientId] };
      return (await runStatement<{ account_id: string }>(pool, statement)).rows[0]?.account_id;
    },
  };
}
