import type { Authenticated, LoginSession } from "../../../identity/login/login-session.ts";
import { LOGIN_SESSION_LIMITS, type LoginSessions } from "../../../identity/login/login-sessions.ts";
import type { Cookies } from "../../http/cookies.ts";
import type { HttpExchange } from "../../http/exchange.ts";

/** The login session of the browser that sends the request. */
export interface BrowserSessions {
  /** The session of the browser's cookie; undefined when nobody is logged in. */
  read(exchange: HttpExchange): Promise<LoginSession | undefined>;
  /** Logs the browser in, whatever it held before. Undefined when the account cannot be logged in to any more. */
  begin(exchange: HttpExchange, who: Authenticated): Promise<LoginSession | undefined>;
  /** Logs the browser out. */
  end(exchange: HttpExchange): Promise<void>;
}

const COOKIE = "session";

/** Login sessions by the cookie that holds their token, which is in no other place. */
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
