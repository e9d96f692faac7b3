import type pg from "pg";
import type { Actor } from "../../../identity/actor.ts";
import type { PersonalAccessToken, PersonalAccessTokenStore } from "../../../identity/tokens/personal-access-token.ts";
import type { Scope } from "../../../identity/scopes.ts";
import { DomainError } from "../../../domain-error.ts";
import { errorCode } from "../../storage-error.ts";
import { transaction } from "../../transaction.ts";
import { lockAccount } from "./account-lock.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfClient } from "../sessions/session-ending.ts";

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
  last_used_at: Date | null;
  replaced_by: string | null;
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
    lastUsedAt: row.last_used_at ?? undefined,
    replacedBy: row.replaced_by ?? undefined,
  };
}

/** PostgreSQL's state for a row that points to one that is not there. */
const FOREIGN_KEY_VIOLATION = "23503";

const COLUMNS = `account_id, id, client_id, name, scopes, connection_id, created_at, expires_at, revoked_at, last_used_at, replaced_by`;

const IN_USE = "revoked_at is null and (expires_at is null or expires_at > now())";

const COUNT = `select count(*)::integer as count from personal_access_token where account_id = $1 and ${IN_USE}`;

function insertion(action: "personal_access_token.create" | "personal_access_token.rotate"): string {
  return `with changed as (
      insert into personal_access_token (account_id, id, client_id, name, scopes, connection_id, created_at, expires_at)
      values ($1, $2, $3, $4, $5, $6, $7, $8)
      returning account_id, id, name),
    ${auditing({ action, objectType: "personal_access_token", objectName: "changed.name" }, 9)}
    select id from changed`;
}

const CREATE = insertion("personal_access_token.create");
const ROTATE = insertion("personal_access_token.rotate");

/** With no grace time the token is revoked besides, by `revoke`. */
const REPLACE = `update personal_access_token
  set replaced_by = $3, expires_at = least(expires_at, clock_timestamp() + make_interval(secs => $4)),
    revoked_at = case when $4 = 0 then now() end
  where account_id = $1 and id = $2 and ${IN_USE}`;

const REVOKE = `
  with changed as (
    update personal_access_token set revoked_at = now() where account_id = $1 and id = $2 and revoked_at is null
    returning account_id, id, client_id, name),
  ${auditing({ action: "personal_access_token.revoke", objectType: "personal_access_token", objectName: "changed.name" }, 3)}
  select client_id from changed`;

/** Another token that acts as the same client keeps its sessions: it replaced this one or is replaced by it. */
const HAS_SIBLING = `select 1 from personal_access_token where account_id = $1 and client_id = $2 and id <> $3 and ${IN_USE}`;

const FIND = {
  name: "personal_access_token_find",
  text: `select ${COLUMNS} from personal_access_token where account_id = $1 and id = $2`,
};
const LIST = {
  name: "personal_access_token_list",
  text: `select ${COLUMNS} from personal_access_token where account_id = $1 order by created_at, id`,
};
const SELECTED = `account_id = $1 and ($2 or (${IN_USE})) and ($3::integer[] is null or connection_id = any ($3))`;
const PAGE = {
  name: "personal_access_token_page",
  text: `select ${COLUMNS}, count(*) over ()::integer as total_count from personal_access_token where ${SELECTED}
    order by created_at, id limit $4 offset $5`,
};
const COUNT_ALL = {
  name: "personal_access_token_count",
  text: `select count(*)::integer as total_count from personal_access_token where ${SELECTED}`,
};
const OWNER = {
  name: "personal_access_token_owner",
  text: "select account_id from personal_access_token where id = $1 and revoked_at is null",
};
const USE = {
  name: "personal_access_token_use",
  text: `select token.expires_at from personal_access_token as token join account on account.id = token.account_id
    where token.account_id = $1 and token.id = $2 and token.client_id = $3
      and token.revoked_at is null and account.disabled_at is null
      and (token.expires_at is null or token.expires_at > now())`,
};
const TOUCH = {
  name: "personal_access_token_touch",
  text: `update personal_access_token as token set last_used_at = now()
    from unnest($1::text[], $2::text[]) as used(account_id, id)
    where token.account_id = used.account_id and token.id = used.id
      and (token.last_used_at is null or token.last_used_at < now() - interval '5 minutes')`,
};

async function insert(client: pg.PoolClient, text: string, token: PersonalAccessToken, actor: Actor): Promise<void> {
  const { accountId, id, clientId, name, scopes, connectionId, createdAt, expiresAt } = token;
  const values = [accountId, id, clientId, name, scopes, connectionId ?? null, createdAt, expiresAt ?? null];
  await client.query(text, [...values, actorParameter(actor)]);
}

/** Refuses the token from now on, and ends the sessions of its client unless another token acts as the same client. */
async function endToken(client: pg.PoolClient, accountId: string, id: string, clientId: string): Promise<void> {
  const siblings = await client.query(HAS_SIBLING, [accountId, clientId, id]);
  if (siblings.rowCount === 0) await endSessionsOfClient(client, accountId, clientId);
  await revoke(client, { accountId, kind: "token", subject: id });
}

/** Personal access tokens in PostgreSQL. */
export function createPersonalAccessTokenStore(pool: pg.Pool): PersonalAccessTokenStore {
  return {
    async insert(token, limit, actor) {
      try {
        await transaction(pool, async (client) => {
          await lockAccount(client, token.accountId);
          const counted = await client.query<{ count: number }>(COUNT, [token.accountId]);
          if ((counted.rows[0]?.count ?? 0) >= limit) {
            const rule = `An account can have at most ${limit} personal access tokens in use; revoke one first.`;
            throw new DomainError("exhausted", rule);
          }
          await insert(client, CREATE, token, actor);
        });
        return true;
      } catch (error) {
        if (errorCode(error) === FOREIGN_KEY_VIOLATION) return false;
        throw error;
      }
    },
    async find(accountId, id) {
      const { rows } = await runStatement<TokenRow>(pool, { ...FIND, values: [accountId, id] });
      return rows[0] && toToken(rows[0]);
    },
    async list(accountId) {
      return (await runStatement<TokenRow>(pool, { ...LIST, values: [accountId] })).rows.map(toToken);
    },
    async listPage(accountId, { connectionIds, includesEnded }, limit, offset) {
      const selected = [accountId, includesEnded, connectionIds ?? null];
      const page = { ...PAGE, values: [...selected, limit, offset] };
      const { rows } = await runStatement<TokenRow & { total_count: number }>(pool, page);
      if (rows[0] !== undefined) return { tokens: rows.map(toToken), totalCount: rows[0].total_count };
      const counted = await runStatement<{ total_count: number }>(pool, { ...COUNT_ALL, values: selected });
      return { tokens: [], totalCount: counted.rows[0]?.total_count ?? 0 };
    },
    rotate: (accountId, id, fresh, graceSeconds, actor) =>
      transaction(pool, async (client) => {
        const replaced = await client.query(REPLACE, [accountId, id, fresh.id, graceSeconds]);
        if (replaced.rowCount !== 1) return false;
        await insert(client, ROTATE, fresh, actor);
        if (graceSeconds === 0) await endToken(client, accountId, id, fresh.clientId);
        return true;
      }),
    revoke: (accountId, id, actor) =>
      transaction(pool, async (client) => {
        const values = [accountId, id, actorParameter(actor)];
        const row = (await client.query<{ client_id: string }>(REVOKE, values)).rows[0];
        if (row !== undefined) await endToken(client, accountId, id, row.client_id);
        return row !== undefined;
      }),
    async findOwner(id) {
      return (await runStatement<{ account_id: string }>(pool, { ...OWNER, values: [id] })).rows[0]?.account_id;
    },
    async findUse(accountId, id, clientId) {
      const values = [accountId, id, clientId];
      const { rows } = await runStatement<{ expires_at: Date | null }>(pool, { ...USE, values });
      return rows[0] && { expiresAt: rows[0].expires_at ?? undefined };
    },
    async touch(used) {
      const values = [used.map(({ accountId }) => accountId), used.map(({ id }) => id)];
      await runStatement(pool, { ...TOUCH, values });
    },
  };
}
