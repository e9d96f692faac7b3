import type pg from "pg";
import type { LoginSession, LoginSessionStore } from "../../../identity/login/login-session.ts";
import { transaction } from "../../transaction.ts";
import { revoke } from "./revocation.ts";
import { runStatement } from "../run-statement.ts";

interface LoginSessionRow {
  account_id: string;
  id: string;
  email: string;
  is_admin: boolean;
  authenticated_at: Date;
  expires_at: Date;
}

function toLoginSession(row: LoginSessionRow): LoginSession {
  return {
    accountId: row.account_id,
    id: row.id,
    email: row.email,
    isAdmin: row.is_admin,
    authenticatedAt: row.authenticated_at,
    expiresAt: row.expires_at,
  };
}

const COLUMNS = `session.account_id, session.id, account.email, account.is_admin, session.authenticated_at,
  session.expires_at`;

const FIND = `
  select ${COLUMNS}, extract(epoch from now() - session.last_used_at)::float8 * 1000 as idle_ms
  from login_session as session join account on account.id = session.account_id
  where session.account_id = $1 and session.secret_hash = $2 and account.disabled_at is null
    and session.expires_at > now() and session.last_used_at > now() - make_interval(secs => $3)`;

const INSERT = `
  with session as (
    insert into login_session (account_id, id, secret_hash, expires_at)
    select id, $2, $3, now() + make_interval(secs => $4) from account
    where id = $1 and disabled_at is null and ($5::text is null or password_hash = $5)
    returning account_id, id, authenticated_at, expires_at)
  select ${COLUMNS} from session join account on account.id = session.account_id`;

const MOMENT = `
  select greatest(
      (extract(epoch from clock_timestamp()) * 1000000)::bigint,
      (select (extract(epoch from max(issued_before)) * 1000000)::bigint + 1 from revocation
        where account_id = $1 and (kind, subject) in (('client', $2), ('account', $1)))
    ) as moment
  from login_session join account on account.id = account_id
  where account_id = $1 and login_session.id = $2 and account.disabled_at is null`;

const END_LONGEST_IDLE = `
  delete from login_session where account_id = $1 and id in (
    select id from login_session where account_id = $1 order by last_used_at desc, id offset $2)
  returning id`;

/**
 * Ends every login session of an account but one, with what was got through them. For the transaction that makes it
 * necessary: the account is disabled, its password changes.
 */
export async function endLoginSessions(
  client: pg.PoolClient,
  accountId: string,
  keptId: string | undefined,
): Promise<void> {
  const text = "delete from login_session where account_id = $1 and id is distinct from $2 returning id";
  const { rows } = await client.query<{ id: string }>(text, [accountId, keptId ?? null]);
  await revokeSessions(client, accountId, rows);
}

async function revokeSessions(
  client: pg.PoolClient,
  accountId: string,
  ended: readonly { readonly id: string }[],
): Promise<void> {
  // Its access tokens carry the session's id as their client.
  for (const { id } of ended) await revoke(client, { accountId, kind: "client", subject: id });
}

/** Login sessions in PostgreSQL: what one replica ends, every other refuses with its next reading. */
export function createLoginSessionStore(pool: pg.Pool): LoginSessionStore {
  return {
    insert: ({ accountId, passwordHash, id, secretHash, lifetimeSeconds }, limit) =>
      transaction(pool, async (client) => {
        // Makes room first; the lock has the openings of one account wait for each other, so that the limit holds.
        await client.query("select from account where id = $1 for no key update", [accountId]);
        const ended = await client.query<{ id: string }>(END_LONGEST_IDLE, [accountId, limit - 1]);
        await revokeSessions(client, accountId, ended.rows);
        const values = [accountId, id, secretHash, lifetimeSeconds, passwordHash ?? null];
        const { rows } = await client.query<LoginSessionRow>(INSERT, values);
        return rows[0] && toLoginSession(rows[0]);
      }),
    async find(accountId, secretHash, idleSeconds) {
      const statement = { name: "login_session_find", text: FIND, values: [accountId, secretHash, idleSeconds] };
      const row = (await runStatement<LoginSessionRow & { idle_ms: number }>(pool, statement)).rows[0];
      return row && { session: toLoginSession(row), idleMs: row.idle_ms };
    },
    async touch(accountId, id) {
      const text = "update login_session set last_used_at = now() where account_id = $1 and id = $2";
      await runStatement(pool, { name: "login_session_touch", text, values: [accountId, id] });
    },
    async issueTimestamp(accountId, id) {
      const statement = { name: "login_session_moment", text: MOMENT, values: [accountId, id] };
      return (await runStatement<{ moment: number }>(pool, statement)).rows[0]?.moment;
    },
    end: (accountId, id) =>
      transaction(pool, async (client) => {
        const text = "delete from login_session where account_id = $1 and id = $2 returning id";
        const { rows } = await client.query<{ id: string }>(text, [accountId, id]);
        await revokeSessions(client, accountId, rows);
        return rows.length === 1;
      }),
    endOthers: (accountId, keptId) => transaction(pool, (client) => endLoginSessions(client, accountId, keptId)),
  };
}
