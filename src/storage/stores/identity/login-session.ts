import { type EntityManager, LockMode } from "@mikro-orm/postgresql";
import type { LoginSessionStore } from "../../../identity/login/login-session.ts";
import type { Database } from "../../database.ts";
import { AccountEntity } from "../../entities/identity/account.ts";
import { LoginSessionEntity } from "../../entities/identity/login-session.ts";
import { inTransaction, transactionTime } from "../../orm.ts";
import { findLoginSession, loginSessionMoment, touchLoginSession } from "../../statements/login-session.ts";
import { runnerOf } from "../run-statement.ts";
import { revoke } from "./revocation.ts";

/**
 * Ends every login session of an account except one, with the tokens that were issued through them. Runs in the
 * transaction that disables the account or changes its password.
 */
export async function endLoginSessions(
  em: EntityManager,
  accountId: string,
  keptId: string | undefined,
): Promise<void> {
  const sessions = await em.find(LoginSessionEntity, { accountId });
  await endSessions(
    em,
    sessions.filter(({ id }) => id !== keptId),
  );
}

type Ended = { readonly accountId: string; readonly id: string };

async function endSessions(em: EntityManager, ended: readonly Ended[]): Promise<void> {
  for (const { accountId, id } of ended) {
    // Its access tokens carry the session's id as their client.
    if ((await em.nativeDelete(LoginSessionEntity, { accountId, id })) === 1)
      await revoke(runnerOf(em), { accountId, kind: "client", subject: id });
  }
}

/**
 * Login sessions in PostgreSQL. A session that ends on one replica is rejected by every other replica with its next
 * query.
 */
export function createLoginSessionStore({ orm, pool }: Pick<Database, "orm" | "pool">): LoginSessionStore {
  return {
    insert: ({ accountId, passwordHash, id, secretHash, lifetimeSeconds }, limit) =>
      inTransaction(orm, async (em) => {
        // The lock makes concurrent logins of an account wait for each other, so that the limit is exact.
        const isInUse = { id: accountId, disabledAt: null, ...(passwordHash === undefined ? {} : { passwordHash }) };
        const account = await em.findOne(AccountEntity, isInUse, { lockMode: LockMode.PESSIMISTIC_WRITE });
        if (account === null) return undefined;
        const orderBy = { lastUsedAt: "desc", id: "asc" } as const;
        await endSessions(em, await em.find(LoginSessionEntity, { accountId }, { orderBy, offset: limit - 1 }));
        const authenticatedAt = await transactionTime(em);
        const expiresAt = new Date(authenticatedAt.getTime() + lifetimeSeconds * 1_000);
        em.create(LoginSessionEntity, { accountId, id, secretHash, authenticatedAt, expiresAt });
        const { email, isAdmin } = account;
        return { accountId, id, email, isAdmin, authenticatedAt, expiresAt };
      }),
    async find(accountId, secretHash, idleSeconds) {
      const [row] = (await findLoginSession(pool, { accountId, secretHash, idleSeconds })).rows;
      if (row === undefined) return undefined;
      const { idleMs, ...session } = row;
      return { session, idleMs };
    },
    async touch(accountId, id) {
      await touchLoginSession(pool, { accountId, id });
    },
    issueTimestamp: async (accountId, id) => (await loginSessionMoment(pool, { accountId, id })).rows[0]?.moment,
    end: (accountId, id) =>
      inTransaction(orm, async (em) => {
        if ((await em.nativeDelete(LoginSessionEntity, { accountId, id })) === 0) return false;
        await revoke(runnerOf(em), { accountId, kind: "client", subject: id });
        return true;
      }),
    endOthers: (accountId, keptId) => inTransaction(orm, (em) => endLoginSessions(em, accountId, keptId)),
  };
}
