import type pg from "pg";
import type { Credentials, CredentialStore } from "../../../identity/login/credentials.ts";
import { transaction } from "../../transaction.ts";
import { endLoginSessions } from "../identity/login-session.ts";
import { runStatement } from "../run-statement.ts";

interface CredentialRow {
  id: string;
  email: string;
  password_hash: string;
  disabled_at: Date | null;
}

const COLUMNS = "id, email, password_hash, disabled_at";

function toCredentials(row: CredentialRow | undefined): Credentials | undefined {
  if (row === undefined) return undefined;
  return {
    accountId: row.id,
    email: row.email,
    passwordHash: row.password_hash,
    isDisabled: row.disabled_at !== null,
  };
}

/** Passwords, hashed, in PostgreSQL. Read apart from accounts, so that a hash reaches only who judges passwords. */
export function createCredentialStore(pool: pg.Pool): CredentialStore {
  return {
    async findByEmail(email) {
      const text = `select ${COLUMNS} from account where lower(email) = lower($1)`;
      const statement = { name: "credential_by_email", text, values: [email] };
      return toCredentials((await runStatement<CredentialRow>(pool, statement)).rows[0]);
    },
    async findByAccount(accountId) {
      const text = `select ${COLUMNS} from account where id = $1`;
      const statement = { name: "credential_by_account", text, values: [accountId] };
      return toCredentials((await runStatement<CredentialRow>(pool, statement)).rows[0]);
    },
    replacePassword: (accountId, { from, to, keptSessionId }) =>
      transaction(pool, async (client) => {
        const text =
          "update account set password_hash = $3 where id = $1 and password_hash = $2 and disabled_at is null";
        const { rowCount } = await client.query(text, [accountId, from, to]);
        if (rowCount !== 1) return false;
        await endLoginSessions(client, accountId, keptSessionId);
        return true;
      }),
  };
}
