import type { Exchange, HeaderFields } from "../http/exchange.ts";
import { errorBody, JSON_HEADERS } from "../http/answer.ts";
import { TransportError } from "../http/fault.ts";
import { createRateLimit, type RateQuota } from "./rate-limit.ts";

/** How often one caller may ask, in requests a minute and replica; 0 switches a limit off. */
export interface RateLimits {
  /** Authenticated requests of one account, on whatever connection and face. */
  readonly account: number;
  /** Requests of one address for what needs no token: pages, documents, metadata. */
  readonly address: number;
  /** Requests of one address for tokens, or about them. */
  readonly token: number;
}

/**
 * Generous: an account that stays below 10,000 a second is not slowed, since the lane keeps a replica alive anyway; whoever
 * wants accounts to share fairly sets a lower one. Each new token costs a signature.
 */
export const RATE_LIMITS: RateLimits = { account: 600_000, address: 6_000, token: 1_200 };

/** The limits of one replica. */
export interface Rates {
  /** Counts an authenticated request and marks its answer. Fails with `exhausted` when the account asks too often. */
  countAccount(exchange: Exchange, accountId: string): void;
  /** Counts a request without a token and marks its answer; true when it was one too many and is answered. */
  refuseAddress(exchange: Exchange, path: string): boolean;
}

const TOO_MANY = "Too many requests. Try again later.";
const WINDOW_SECONDS = 60;

/** Makes the limits; `addressOf` is what addresses are counted by. */
export function createRates(limits: RateLimits, addressOf: (exchange: Exchange) => string): Rates {
  const quota = (requests: number): RateQuota => ({ requests, windowSeconds: WINDOW_SECONDS });
  const account = createRateLimit("account", quota(limits.account));
  const address = createRateLimit("address", quota(limits.address));
  const token = createRateLimit("token", quota(limits.token));

  /** The answer says what is left. */
  function mark(exchange: Exchange, headers: HeaderFields): void {
    exchange.alwaysSend = exchange.alwaysSend === undefined ? headers : { ...exchange.alwaysSend, ...headers };
  }

  return {
    countAccount(exchange, accountId) {
      if (account === undefined) return;
      const left = account.take(accountId);
      const headers = account.headers(left);
      if (left < 0) {
        const retryAfterSeconds = account.retryAfterSeconds(left);
        throw new TransportError("exhausted", TOO_MANY, { headers, retryAfterSeconds });
      }
      mark(exchange, headers);
    },
    refuseAddress(exchange, path) {
      const isOAuth = path.startsWith("/oauth2/");
      const limit = isOAuth ? token : address;
      if (limit === undefined) return false;
      const left = limit.take(addressOf(exchange));
      mark(exchange, limit.headers(left));
      if (left >= 0) return false;
      // RFC 6749 has no error for this one; a server that cannot serve now is the nearest.
      const body = isOAuth
        ? JSON.stringify({ error: "temporarily_unavailable", error_description: TOO_MANY })
        : errorBody("RATE_LIMITED", TOO_MANY);
      exchange.respond(429, { ...JSON_HEADERS, "retry-after": String(limit.retryAfterSeconds(left)) }, body);
      return true;
    },
  };
}
