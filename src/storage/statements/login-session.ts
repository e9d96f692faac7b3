import { sql } from "kysely";
import type { LoginSession } from "../../identity/login/login-session.ts";
import { momentAfterRevocations } from "./moment.ts";
import { prepare } from "./prepare.ts";

/** The session of a cookie with its idle time, unless the session has ended or its account is disabled. */
export const findLoginSession = prepare(
  "login_session_find",
  (tables, given: { accountId: string; secretHash: Uint8Array; idleSeconds: number }) =>
    tables
      .selectFrom("login_session as session")
      .innerJoin("account", "account.id", "session.account_id")
      .select([
        "session.account_id as accountId",
        "session.id",
        "account.email",
        "account.is_admin as isAdmin",
        "session.authenticated_at as authenticatedAt",
        "session.expires_at as expiresAt",
        sql<number>`extract(epoch from now() - session.last_used_at)::float8 * 1000`.as("idleMs"),
      ])
      .where(({ and }) => and({ "session.account_id": given.accountId, "session.secret_hash": given.secretHash }))
      .where("account.disabled_at", "is", null)
      .where("session.expires_at", ">", sql<Date>`now()`)
      .where("session.last_used_at", ">", sql<Date>`now() - make_interval(secs => ${given.idleSeconds})`),
);

/** Records that a session is in use. */
export const touchLoginSession = prepare(
  "login_session_touch",
  (tables, given: Pick<LoginSession, "accountId" | "id">) =>
    tables
      .updateTable("login_session")
      .set({ last_used_at: sql`now()` })
      .where("account_id", "=", given.accountId)
      .where("id", "=", given.id),
);

/** The issue instant of a session's access token. */
export const loginSessionMoment = prepare(
  "login_session_moment",
  (tables, given: Pick<LoginSession, "accountId" | "id">) =>
    tables
      .selectFrom("login_session as session")
      .innerJoin("account", "account.id", "session.account_id")
      .select(
        momentAfterRevocations(sql.ref("session.account_id"), sql`('client', ${sql.ref("session.id")})`).as("moment"),
      )
      .where(({ and }) => and({ "session.account_id": given.accountId, "session.id": given.id }))
      .where("account.disabled_at", "is", null),
);
