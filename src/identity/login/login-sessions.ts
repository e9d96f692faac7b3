import { hashSecret } from "../hash-secret.ts";
import { randomId, randomSecret } from "../random.ts";
import type { Authenticated, LoginSession, LoginSessionStore } from "./login-session.ts";

/** How long a session lives. */
export const LOGIN_SESSION_LIMITS = { idleSeconds: 12 * 3_600, lifetimeSeconds: 7 * 86_400, perAccount: 100 } as const;

/** A session's last use is written at most this often. */
const TOUCH_MS = 5 * 60_000;

const TOKEN = /^(acc_[A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** Who is logged in. A session's token is what its browser keeps: the account and a secret. */
export interface LoginSessions {
  /** The session that a token opens; undefined when it opens none. One read by key; nothing is kept in memory. */
  find(token: string | undefined): Promise<LoginSession | undefined>;
  /**
   * Begins a session under a new token and ends the one that the browser had. Undefined when the account is disabled, gone,
   * or has another password by now.
   */
  begin(
    who: Authenticated,
    previousToken: string | undefined,
  ): Promise<{ readonly session: LoginSession; readonly token: string } | undefined>;
  /** Ends the session that a token opens, if there is one, and everything that was got with it. */
  end(token: string | undefined): Promise<void>;
}

/** Login sessions over a store, which keeps of a token's secret a keyed hash alone. */
export function createLoginSessions(deps: {
  readonly store: LoginSessionStore;
  readonly pepper: Uint8Array;
}): LoginSessions {
  const { store, pepper } = deps;

  async function read(token: string | undefined): Promise<{ session: LoginSession; idleMs: number } | undefined> {
    const [, accountId, secret] = TOKEN.exec(token ?? "") ?? [];
    if (accountId === undefined || secret === undefined) return undefined;
    return store.find(accountId, hashSecret(pepper, secret), LOGIN_SESSION_LIMITS.idleSeconds);
  }

  async function end(token: string | undefined): Promise<void> {
    const found = await read(token);
    if (found !== undefined) await store.end(found.session.accountId, found.session.id);
  }

  return {
    async find(token) {
      const found = await read(token);
      if (found === undefined) return undefined;
      const { session, idleMs } = found;
      if (idleMs > TOUCH_MS) await store.touch(session.accountId, session.id);
      return session;
    },
    async begin(who, previousToken) {
      await end(previousToken);
      const secret = randomSecret();
      const { lifetimeSeconds, perAccount } = LOGIN_SESSION_LIMITS;
      const session = await store.insert(
        { ...who, id: randomId("session_"), secretHash: hashSecret(pepper, secret), lifetimeSeconds },
        perAccount,
      );
      return session && { session, token: `${who.accountId}.${secret}` };
    },
    end,
  };
}
