import type { HttpExchange } from "../http/exchange.ts";
import { TransportError } from "../http/fault.ts";
import { createRateLimit, type RateLimit, type RateQuota } from "./rate-limit.ts";

/** How often one caller may ask, in requests a minute and replica; 0 switches a limit off. */
export interface RateLimits {
  /** Authenticated requests of one account, on whatever connection and protocol. */
  readonly account: number;
  /** Requests of one address for what needs no token: pages, documents, metadata. */
  readonly address: number;
  /** Requests of one address for tokens, or about them. */
  readonly token: number;
}

/**
 * High enough that an account below 10,000 requests a second is not slowed: the concurrency limiter shares a replica fairly
 * between accounts. Each new token costs a signature.
 */
export const RATE_LIMITS: RateLimits = { account: 600_000, address: 6_000, token: 1_200 };

/** The limits of one replica. */
export interface Rates {
  /** Counts an authenticated request and marks its answer. Fails with `exhausted` when the account asks too often. */
  countAccount(exchange: HttpExchange, accountId: string): void;
  /** Counts a request without a token by its address and marks its answer. Fails with `exhausted` when there are too many. */
  countAddress(exchange: HttpExchange, limit: "address" | "token"): void;
}

const TOO_MANY = "Too many requests. Try again later.";
const WINDOW_SECONDS = 60;

/** Makes the limits; `addressOf` is what addresses are counted by. */
export function createRates(limits: RateLimits, addressOf: (exchange: HttpExchange) => string): Rates {
  const quota = (requests: number): RateQuota => ({ requests, windowSeconds: WINDOW_SECONDS });
  const account = createRateLimit("account", quota(limits.account));
  const byAddress = {
    address: createRateLimit("address", quota(limits.address)),
    token: createRateLimit("token", quota(limits.token)),
  };

  /** Takes one from a quota; the answer says what is left. */
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
