import type pg from "pg";
import type { PersonalAccessToken, PersonalAccessTokenStore } from "../../auth/personal-access-tokens.ts";
import type { Scope } from "../../auth/scopes.ts";
import { errorCode } from "../storage-error.ts";
import { transaction } from "../transaction.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "./run-statement.ts";
import { endSessionsOfClient } from "./session-ending.ts";

interface TokenRow {
  account_id: string;
  id: string;
  client_id: string;
  name: string;
  scopes: Scope[];
  connection_id: number | null;
  created_at: Date;
  expires_at: Date | null;
  revoked_at: Date | null;
}

function toToken(row: TokenRow): PersonalAccessToken {
  return {
    accountId: row.account_id,
    id: row.id,
    clientId: row.client_id,
    name: row.name,
    scopes: row.scopes,
    connectionId: row.connection_id ?? undefined,
    createdAt: row.created_at,
    expiresAt: row.expires_at ?? undefined,
    revokedAt: row.revoked_at ?? undefined,
  };
}

/** PostgreSQL's state for a row that points to one that is not there. */
const FOREIGN_KEY_VIOLATION = "23503";

/** Personal access tokens in PostgreSQL. */
export function createPersonalAccessTokenStore(pool: pg.Pool): PersonalAccessTokenStore {
  return {
    async insert(token) {
      const text = `insert into personal_access_token
        (account_id, id, client_id, name, scopes, connection_id, created_at, expires_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`;
      const { accountId, id, clientId, name, scopes, connectionId, createdAt, expiresAt } = token;
      const values = [accountId, id, clientId, name, scopes, connectionId ?? null, createdAt, expiresAt ?? null];
      try {
        await runStatement(pool, { name: "personal_access_token_insert", text, values });
        return true;
      } catch (error) {
        if (errorCode(error) === FOREIGN_KEY_VIOLATION) return false;
        throw error;
      }
    },
    async list(accountId) {
      const text = `select account_id, id, client_id, name, scopes, connection_id, created_at, expires_at, revoked_at
        from personal_access_token where account_id = $1 order by created_at, id`;
      const statement = { name: "personal_access_token_list", text, values: [accountId] };
      return (await runStatement<TokenRow>(pool, statement)).rows.map(toToken);
    },
    async revoke(id) {
      return transaction(pool, async (client) => {
        const text =
          "update personal_access_token set revoked_at = now() where id = $1 and revoked_at is null returning account_id, client_id";
        const row = (await client.query<{ account_id: string; client_id: string }>(text, [id])).rows[0];
        if (row === undefined) return undefined;
        const { account_id: accountId, client_id: clientId } = row;
        // The client of a personal access token is that token alone.
        await endSessionsOfClient(client, accountId, clientId);
        await revoke(client, { accountId, kind: "token", subject: id, isKeptForEver: true });
        return { accountId };
      });
    },
    async isHonoured(accountId, id, clientId) {
      const text = `select 1 from personal_access_token as token join account on account.id = token.account_id
        where token.account_id = $1 and token.id = $2 and token.client_id = $3
          and token.revoked_at is null and account.disabled_at is null
          and (token.expires_at is null or token.expires_at > now())`;
      const statement = { name: "personal_access_token_honoured", text, values: [accountId, id, clientId] };
      return (await runStatement(pool, statement)).rowCount === 1;
    },
  };
}
