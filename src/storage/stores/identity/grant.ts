import type pg from "pg";
import type { OAuthGrant, OAuthGrantStore } from "../../../identity/grants/grants.ts";
import type { Scope } from "../../../identity/scopes.ts";
import { transaction } from "../../transaction.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfGrant } from "../sessions/session-ending.ts";

interface GrantRow {
  account_id: string;
  id: string;
  client_id: string;
  client_name: string;
  redirect_uri: string;
  scopes: Scope[];
  resource: string;
  connection_ids: number[] | null;
  created_at: Date;
  last_used_at: Date | null;
}

interface TokenGrantRow extends GrantRow {
  moment: number;
  is_admin: boolean;
}

function toGrant(row: GrantRow): OAuthGrant {
  return {
    accountId: row.account_id,
    id: row.id,
    clientId: row.client_id,
    clientName: row.client_name,
    redirectUri: row.redirect_uri,
    scopes: row.scopes,
    resource: row.resource,
    connectionIds: row.connection_ids ?? undefined,
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at ?? undefined,
  };
}

const COLUMNS = `account_id, oauth_grant.id, client_id, client_name, redirect_uri, scopes, resource, connection_ids,
  oauth_grant.created_at, last_used_at`;

/** Grants of one account in use at once. */
const MAX_GRANTS = 1_000;

const INSERT = {
  name: "grant_insert",
  text: `with changed as (
      insert into oauth_grant
        (account_id, id, client_id, client_name, redirect_uri, scopes, resource, connection_ids)
      select account.id, $2, $3, $4, $5, $6, $7, $8 from account
      where account.id = $1 and disabled_at is null
        and (select count(*) from oauth_grant where account_id = $1 and revoked_at is null) < ${MAX_GRANTS}
      returning account_id, id, client_name),
    ${auditing({ action: "grant.create", objectType: "grant", objectName: "changed.client_name" }, 9)}
    select id from changed`,
};

const LIST = {
  name: "grant_list",
  text: `select ${COLUMNS} from oauth_grant where account_id = $1 and revoked_at is null
    order by created_at desc, id`,
};

const LIST_OF_CLIENT = {
  name: "grant_list_of_client",
  text: `select ${COLUMNS} from oauth_grant where account_id = $1 and client_id = $2 and revoked_at is null
    order by created_at desc, id`,
};

const HAS_CLIENT = {
  name: "grant_has_client",
  text: "select from oauth_grant where client_id = $1 and revoked_at is null limit 1",
};

// The moment: see `findForToken` in `client.ts`.
const FOR_TOKEN = {
  name: "grant_for_token",
  text: `select ${COLUMNS},
      greatest(
        (extract(epoch from clock_timestamp()) * 1000000)::bigint,
        (select (extract(epoch from max(issued_before)) * 1000000)::bigint + 1 from revocation
          where revocation.account_id = oauth_grant.account_id and (kind, subject) in
            (('grant', oauth_grant.id), ('client', oauth_grant.client_id), ('account', oauth_grant.account_id)))
      ) as moment, is_admin
    from oauth_grant join account on account.id = oauth_grant.account_id
    where oauth_grant.id = $1 and revoked_at is null and disabled_at is null`,
};

const REACH = {
  name: "grant_reach",
  text: "select connection_ids from oauth_grant where account_id = $1 and id = $2 and revoked_at is null",
};

const TOUCH = {
  name: "grant_touch",
  text: "update oauth_grant set last_used_at = now() where account_id = $1 and id = $2",
};

const REVOKE = `
  with changed as (
    update oauth_grant set revoked_at = now() where account_id = $1 and id = $2 and revoked_at is null
    returning account_id, id, client_name),
  ${auditing({ action: "grant.revoke", objectType: "grant", objectName: "changed.client_name" }, 3)}
  select id from changed`;

/** Grants in PostgreSQL. */
export function createGrantStore(pool: pg.Pool): OAuthGrantStore {
  return {
    async insert({ accountId, id, clientId, clientName, redirectUri, scopes, resource, connectionIds }, actor) {
      const values = [accountId, id, clientId, clientName, redirectUri, scopes, resource, connectionIds ?? null];
      const statement = { ...INSERT, values: [...values, actorParameter(actor)] };
      return (await runStatement(pool, statement)).rowCount === 1;
    },
    async list(accountId) {
      return (await runStatement<GrantRow>(pool, { ...LIST, values: [accountId] })).rows.map(toGrant);
    },
    async listOfClient(accountId, clientId) {
      const { rows } = await runStatement<GrantRow>(pool, { ...LIST_OF_CLIENT, values: [accountId, clientId] });
      return rows.map(toGrant);
    },
    async hasClient(clientId) {
      return (await runStatement(pool, { ...HAS_CLIENT, values: [clientId] })).rowCount === 1;
    },
    async findForToken(id) {
      const { rows } = await runStatement<TokenGrantRow>(pool, { ...FOR_TOKEN, values: [id] });
      return rows[0] && { ...toGrant(rows[0]), issuedAt: rows[0].moment, isAdmin: rows[0].is_admin };
    },
    async findReach(accountId, id) {
      const { rows } = await runStatement<Pick<GrantRow, "connection_ids">>(pool, {
        ...REACH,
        values: [accountId, id],
      });
      return (
        rows[0] && { connectionIds: rows[0].connection_ids === null ? undefined : new Set(rows[0].connection_ids) }
      );
    },
    async touch(accountId, id) {
      await runStatement(pool, { ...TOUCH, values: [accountId, id] });
    },
    async revoke(accountId, id, actor) {
      return transaction(pool, async (client) => {
        if ((await client.query(REVOKE, [accountId, id, actorParameter(actor)])).rowCount === 0) return false;
        await client.query("delete from oidc_payload where grant_id = $1", [id]);
        await endSessionsOfGrant(client, accountId, id);
        await revoke(client, { accountId, kind: "grant", subject: id });
        return true;
      });
    },
  };
}
