import type pg from "pg";
import type { Account, AccountStore } from "../../../identity/account.ts";
import { transaction } from "../../transaction.ts";
import { recordEvent } from "./audit-event.ts";
import { endLoginSessions } from "./login-session.ts";
import { actorParameter, auditing } from "./audit-event.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";
import { endSessionsOfAccount } from "../sessions/session-ending.ts";

interface AccountRow {
  id: string;
  email: string;
  is_admin: boolean;
  disabled_at: Date | null;
}

const COLUMNS = "id, email, is_admin, disabled_at";

function toAccount(row: AccountRow | undefined): Account | undefined {
  if (row === undefined) return undefined;
  return { id: row.id, email: row.email, isAdmin: row.is_admin, disabledAt: row.disabled_at ?? undefined };
}

const INSERT = `
  with changed as (
    insert into account (id, email, password_hash, is_admin) values ($1, $2, $3, $4)
    on conflict ((lower(email))) do nothing
    returning id, email),
  ${auditing({ action: "account.create", objectType: "account", accountId: "changed.id", objectName: "changed.email" }, 5)}
  select id from changed`;

const DISABLE = `
  with changed as (
    update account set disabled_at = coalesce(disabled_at, now()) where id = $1 returning id, email),
  ${auditing({ action: "account.disable", objectType: "account", accountId: "changed.id", objectName: "changed.email" }, 2)}
  select id from changed`;

/** Accounts in PostgreSQL. */
export function createAccountStore(pool: pg.Pool): AccountStore {
  return {
    async insert({ id, email, passwordHash, isAdmin }, actor) {
      const values = [id, email, passwordHash, isAdmin, actorParameter(actor)];
      return (await runStatement(pool, { name: "account_insert", text: INSERT, values })).rowCount === 1;
    },
    async findById(id) {
      const text = `select ${COLUMNS} from account where id = $1`;
      return toAccount((await runStatement<AccountRow>(pool, { name: "account_by_id", text, values: [id] })).rows[0]);
    },
    async findByEmail(email) {
      const text = `select ${COLUMNS} from account where lower(email) = lower($1)`;
      return toAccount(
        (await runStatement<AccountRow>(pool, { name: "account_by_email", text, values: [email] })).rows[0],
      );
    },
    async disable(id, actor) {
      return transaction(pool, async (client) => {
        const { rowCount } = await client.query(DISABLE, [id, actorParameter(actor)]);
        if (rowCount !== 1) return false;
        await endSessionsOfAccount(client, id);
        await endLoginSessions(client, id, undefined);
        await revoke(client, { accountId: id, kind: "account", subject: id, isKeptForEver: true });
        return true;
      });
    },
    async resetPassword(id, passwordHash, actor) {
      return transaction(pool, async (client) => {
        const text = "update account set password_hash = $2 where id = $1 returning email";
        const row = (await client.query<{ email: string }>(text, [id, passwordHash])).rows[0];
        if (row === undefined) return false;
        await endLoginSessions(client, id, undefined);
        await recordEvent(client, {
          accountId: id,
          action: "account.change_password",
          outcome: "ok",
          actor,
          objectType: "account",
          objectId: id,
          objectName: row.email,
          changed: ["password"],
        });
        return true;
      });
    },
    async isEmpty() {
      const text = "select 1 from account limit 1";
      return (await runStatement(pool, { name: "account_any", text, values: [] })).rowCount === 0;
    },
  };
}
