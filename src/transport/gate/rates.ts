import type { HttpExchange } from "../http/exchange.ts";
import { TransportError } from "../http/fault.ts";
import { createRateLimit, type RateLimit, type RateQuota } from "./rate-limit.ts";

/** Rate limits of one caller, in requests per minute and replica; 0 disables a limit. */
export interface RateLimits {
  /** Authenticated requests of one account over all connections and protocols. */
  readonly account: number;
  /** Requests per address that need no token: pages, documents, metadata. */
  readonly address: number;
  /** Requests per address to the token endpoints. */
  readonly token: number;
}

/**
 * High enough that an account below 10,000 requests a second is not limited, because the concurrency limiter shares a
 * replica fairly. Each new token costs a signature.
 */
export const RATE_LIMITS: RateLimits = { account: 600_000, address: 6_000, token: 1_200 };

/** The rate limits of one replica. */
export interface Rates {
  /** Counts an authenticated request and sets the headers of its response. Throws `exhausted` over the limit. */
  countAccount(exchange: HttpExchange, accountId: string): void;
  /**
   * Counts a request without a token by address and sets the headers of its response. Throws `exhausted` over the
   * limit.
   */
  countAddress(exchange: HttpExchange, limit: "address" | "token"): void;
}

const TOO_MANY = "Too many requests. Try again later.";
const WINDOW_SECONDS = 60;

/** Creates the limits. `addressOf` returns the address a request is counted for. */
export function createRates(limits: RateLimits, addressOf: (exchange: HttpExchange) => string): Rates {
  const quota = (requests: number): RateQuota => ({ requests, windowSeconds: WINDOW_SECONDS });
  const account = createRateLimit("account", quota(limits.account));
  const byAddress = {
    address: createRateLimit("address", quota(limits.address)),
    token: createRateLimit("token", quota(limits.token)),
  };

  /** Consumes one token and sets the headers of the response. */
  function count(limit: RateLimit, exchange: HttpExchange, key: string): void {
    const left = limit.take(key);
    const headers = limit.headers(left);
    if (left < 0) {
      throw new TransportError("exhausted", TOO_MANY, { headers, retryAfterSeconds: limit.retryAfterSeconds(left) });
    }
    exchange.alwaysSend = exchange.alwaysSend === undefined ? headers : { ...exchange.alwaysSend, ...headers };
  }

  return {
    countAccount(exchange, accountId) {
      if (account !== undefined) count(account, exchange, accountId);
    },
    countAddress(exchange, name) {
      const limit = byAddress[name];
      if (limit !== undefined) count(limit, exchange, addressOf(exchange));
    },
  };
}
