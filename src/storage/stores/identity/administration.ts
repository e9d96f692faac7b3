import type pg from "pg";
import type { AccountStore } from "../../../identity/account.ts";
import { INSTALLATION_LOG } from "../../../identity/audit/audit-event.ts";
import type { AdministeredAccount, AdministrationStore } from "../../../identity/accounts/administration.ts";
import { transaction } from "../../transaction.ts";
import { actorParameter, auditing, recordEvent } from "./audit-event.ts";
import { type EnqueueRevocation, revokeGrants } from "../connections/connection-grant-write.ts";
import { endLoginSessions } from "./login-session.ts";
import { honourAgain, revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfAccount } from "../sessions/session-ending.ts";

interface AccountRow {
  id: string;
  email: string;
  is_admin: boolean;
  connection_count: number;
  created_at: Date;
  disabled_at: Date | null;
}

function toAccount(row: AccountRow): AdministeredAccount {
  return {
    id: row.id,
    email: row.email,
    isAdmin: row.is_admin,
    connectionCount: row.connection_count,
    createdAt: row.created_at,
    disabledAt: row.disabled_at ?? undefined,
  };
}

const COLUMNS = `account.id, account.email, account.is_admin, account.created_at, account.disabled_at,
  (select count(*)::integer from connection where connection.account_id = account.id) as connection_count`;

const SELECTED = `($1::text is null or account.id = $1 or position(lower($1) in lower(account.email)) > 0)
  and ($2::boolean is null or (account.disabled_at is not null) = $2)`;

const LIST = {
  name: "administered_account_list",
  text: `select ${COLUMNS} from account where ${SELECTED} order by created_at, id limit $3 offset $4`,
};
const COUNT = {
  name: "administered_account_count",
  text: `select count(*)::integer as count from account where ${SELECTED}`,
};
const FIND = { name: "administered_account_find", text: `select ${COLUMNS} from account where account.id = $1` };

const ENABLE = `
  with changed as (update account set disabled_at = null where id = $1 and disabled_at is not null returning id, email),
  ${auditing({ action: "account.enable", objectType: "account", accountId: "changed.id", objectName: "changed.email" }, 2)}
  select id from changed`;

const END_SESSIONS = `
  with changed as (select id, email from account where id = $1 for no key update),
  ${auditing(
    { action: "account.end_sessions", objectType: "account", accountId: "changed.id", objectName: "changed.email" },
    2,
  )}
  select id from changed`;

const DROP_REFRESH_TOKENS = `
  delete from oidc_payload where grant_id in (select id from oauth_grant where account_id = $1)`;

/** Rows deleted by one statement, so that a purge holds no lock for long. */
const BATCH = 5_000;

/** The same of contents of calls, which are large. */
const CONTENTS_BATCH = 500;

/** How long one request goes on purging, in milliseconds; then it says how far it came. */
const PURGE_MS = 20_000;

const PURGE_HISTORY = `
  delete from call_record where account_id = $1 and (started_at, id) in (
    select started_at, id from call_record where account_id = $1 limit ${BATCH})`;

const PURGE_CONTENTS = `
  delete from call_contents where account_id = $1 and call_id in (
    select call_id from call_contents where account_id = $1 limit ${CONTENTS_BATCH})`;

/** What others' logs say of the account stays, without where its person was and what they were called. */
const FORGET_PERSON = `
  update audit_event set address = '', user_agent = '',
    object_name = case when object_type = 'account' and object_id = $1 then '' else object_name end
  where actor_account_id = $1 or (object_type = 'account' and object_id = $1)`;

/** Accounts in PostgreSQL, for administrators. */
export function createAdministrationStore(
  pool: pg.Pool,
  accounts: Pick<AccountStore, "insert" | "disable">,
  enqueueRevocation: EnqueueRevocation,
): AdministrationStore {
  return {
    async list({ query, isDisabled }, limit, offset) {
      const selected = [query ?? null, isDisabled ?? null];
      const [page, counted] = await Promise.all([
        runStatement<AccountRow>(pool, { ...LIST, values: [...selected, limit, offset] }),
        runStatement<{ count: number }>(pool, { ...COUNT, values: selected }),
      ]);
      return { accounts: page.rows.map(toAccount), totalCount: counted.rows[0]?.count ?? 0 };
    },
    async find(id) {
      const { rows } = await runStatement<AccountRow>(pool, { ...FIND, values: [id] });
      return rows[0] && toAccount(rows[0]);
    },
    insert: (account, actor) => accounts.insert(account, actor),
    disable: (id, actor) => accounts.disable(id, actor),
    enable: (id, actor) =>
      transaction(pool, async (client) => {
        const { rowCount } = await client.query(ENABLE, [id, actorParameter(actor)]);
        if (rowCount === 1) await honourAgain(client, id);
        return rowCount === 1;
      }),
    endSessions: (id, actor) =>
      transaction(pool, async (client) => {
        const { rowCount } = await client.query(END_SESSIONS, [id, actorParameter(actor)]);
        if (rowCount !== 1) return false;
        await client.query(DROP_REFRESH_TOKENS, [id]);
        await endSessionsOfAccount(client, id);
        await endLoginSessions(client, id, undefined);
        await revoke(client, { accountId: id, kind: "account", subject: id, issuedBefore: new Date() });
        return true;
      }),
    async purge(id, actor) {
      const state = await runStatement<{ is_disabled: boolean }>(pool, {
        name: "administered_account_state",
        text: "select disabled_at is not null as is_disabled from account where id = $1",
        values: [id],
      });
      if (state.rows[0] === undefined) return "missing";
      if (!state.rows[0].is_disabled) return "active";
      const until = Date.now() + PURGE_MS;
      const contents = { name: "administered_account_contents", text: PURGE_CONTENTS, values: [id] };
      while ((await runStatement(pool, contents)).rowCount === CONTENTS_BATCH)
        if (Date.now() > until) return "unfinished";
      const history = { name: "administered_account_history", text: PURGE_HISTORY, values: [id] };
      while ((await runStatement(pool, history)).rowCount === BATCH) if (Date.now() > until) return "unfinished";
      return transaction(pool, async (client) => {
        await client.query(DROP_REFRESH_TOKENS, [id]);
        await revokeGrants(client, id, undefined, enqueueRevocation);
        const deleted = await client.query("delete from account where id = $1 and disabled_at is not null", [id]);
        if (deleted.rowCount === 0) return "active";
        // What was still being written when the account's connections went is there now, or never will be.
        await client.query("delete from call_record where account_id = $1", [id]);
        await client.query("select set_config('patchbay.purge', 'on', true)");
        await client.query("delete from audit_event where account_id = $1", [id]);
        await client.query(FORGET_PERSON, [id]);
        await revoke(client, { accountId: id, kind: "account", subject: id });
        await recordEvent(client, {
          accountId: INSTALLATION_LOG,
          action: "account.purge",
          outcome: "ok",
          actor,
          objectType: "account",
          objectId: id,
          objectName: "",
          changed: [],
        });
        return "purged";
      });
    },
  };
}
