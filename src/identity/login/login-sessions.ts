import { hashSecret } from "../hash-secret.ts";
import type { HttpRequest, HttpResponse } from "../../transport/http/node-exchange.ts";
import { randomId, randomSecret } from "../random.ts";
import type { Cookies } from "../../transport/pages/cookies.ts";
import type { Authenticated, LoginSession, LoginSessionStore } from "./login-session.ts";

/** How long a session lives. */
export const LOGIN_SESSION_LIMITS = { idleSeconds: 12 * 3_600, lifetimeSeconds: 7 * 86_400, perAccount: 100 } as const;

/** A session's last use is written at most this often. */
const TOUCH_MS = 5 * 60_000;

const COOKIE = "session";
const COOKIE_VALUE = /^(acc_[A-Za-z0-9_-]{1,64})\.([A-Za-z0-9_-]{43})$/;

/** Who is logged in, in which browser. */
export interface LoginSessions {
  /** The session of the request's cookie; undefined when nobody is logged in. One read by key; nothing is kept in memory. */
  read(request: HttpRequest): Promise<LoginSession | undefined>;
  /**
   * Logs the browser in under a new cookie, whatever it held before, and ends the session it had. Undefined when the
   * account is disabled, gone, or has another password by now.
   */
  begin(request: HttpRequest, response: HttpResponse, who: Authenticated): Promise<LoginSession | undefined>;
  /** Ends the browser's session, if it has one, and everything that was got with it. */
  end(request: HttpRequest, response: HttpResponse): Promise<void>;
}

/** Login sessions over a store. The cookie holds the account and a secret, of which only a keyed hash is kept. */
export function createLoginSessions(deps: {
  readonly store: LoginSessionStore;
  readonly cookies: Cookies;
  readonly pepper: Uint8Array;
}): LoginSessions {
  const { store, cookies, pepper } = deps;

  function parseCookie(request: HttpRequest): { accountId: string; secretHash: Uint8Array } | undefined {
    const [, accountId, secret] = COOKIE_VALUE.exec(cookies.read(request, COOKIE) ?? "") ?? [];
    if (accountId === undefined || secret === undefined) return undefined;
    return { accountId, secretHash: hashSecret(pepper, secret) };
  }

  async function find(request: HttpRequest): Promise<{ session: LoginSession; idleMs: number } | undefined> {
    const named = parseCookie(request);
    return named && store.find(named.accountId, named.secretHash, LOGIN_SESSION_LIMITS.idleSeconds);
  }

  async function endCurrent(request: HttpRequest): Promise<void> {
    const found = await find(request);
    if (found !== undefined) await store.end(found.session.accountId, found.session.id);
  }

  return {
    async read(request) {
      const found = await find(request);
      if (found === undefined) return undefined;
      const { session, idleMs } = found;
      if (idleMs > TOUCH_MS) await store.touch(session.accountId, session.id);
      return session;
    },
    async begin(request, response, who) {
      await endCurrent(request);
      const secret = randomSecret();
      const { lifetimeSeconds, perAccount } = LOGIN_SESSION_LIMITS;
      const session = await store.insert(
        { ...who, id: randomId("session_"), secretHash: hashSecret(pepper, secret), lifetimeSeconds },
        perAccount,
      );
      if (session !== undefined) cookies.set(response, COOKIE, `${who.accountId}.${secret}`, lifetimeSeconds);
      return session;
    },
    async end(request, response) {
      await endCurrent(request);
      cookies.clear(response, COOKIE);
    },
  };
}
