import type { Authenticated, LoginSession } from "../../../identity/login/login-session.ts";
import { LOGIN_SESSION_LIMITS, type LoginSessions } from "../../../identity/login/login-sessions.ts";
import type { Cookies } from "../../http/cookies.ts";
import type { HttpExchange } from "../../http/exchange.ts";

/** The login session of a request's browser. */
export interface BrowserSessions {
  /** Returns the session of the cookie, or undefined if nobody is logged in. */
  read(exchange: HttpExchange): Promise<LoginSession | undefined>;
  /** Logs the browser in and replaces its session. Returns undefined if the account can no longer log in. */
  begin(exchange: HttpExchange, who: Authenticated): Promise<LoginSession | undefined>;
  /** Logs the browser out. */
  end(exchange: HttpExchange): Promise<void>;
}

const COOKIE = "session";

/** Login sessions whose token is stored only in the browser's cookie. */
export function createBrowserSessions(deps: {
  readonly sessions: LoginSessions;
  readonly cookies: Cookies;
}): BrowserSessions {
  const { sessions, cookies } = deps;
  return {
    read: (exchange) => sessions.find(cookies.read(exchange, COOKIE)),
    async begin(exchange, who) {
      const begun = await sessions.begin(who, cookies.read(exchange, COOKIE));
      if (begun !== undefined) cookies.set(exchange, COOKIE, begun.token, LOGIN_SESSION_LIMITS.lifetimeSeconds);
      return begun?.session;
    },
    async end(exchange) {
      await sessions.end(cookies.read(exchange, COOKIE));
      cookies.clear(exchange, COOKIE);
    },
  };
}
