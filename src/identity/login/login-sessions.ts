import { hashSecret } from "../hash-secret.ts";
import { randomId, randomSecret } from "../random.ts";
import type { Authenticated, LoginSession, LoginSessionStore } from "./login-session.ts";

export const LOGIN_SESSION_LIMITS = { idleSeconds: 12 * 3_600, lifetimeSeconds: 7 * 86_400, perAccount: 100 } as const;

/** The shortest time between two writes of a session's last use. */
const TOUCH_MS = 5 * 60_000;

const TOKEN = /^(acc_[A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** Login sessions by token. A token contains the account id and a secret; the browser stores it. */
export interface LoginSessions {
  /** Reads the session from the database; nothing is cached. Returns undefined for an invalid token. */
  find(token: string | undefined): Promise<LoginSession | undefined>;
  /**
   * Starts a session with a new token and ends the browser's previous one. Returns undefined if the account is
   * disabled, deleted or has another password.
   */
  begin(
    who: Authenticated,
    previousToken: string | undefined,
  ): Promise<{ readonly session: LoginSession; readonly token: string } | undefined>;
  /** Ends the session, if there is one, and revokes its access tokens. */
  end(token: string | undefined): Promise<void>;
}

/** The store gets only a keyed hash of the secret. */
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
