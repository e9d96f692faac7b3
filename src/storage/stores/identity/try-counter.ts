import type pg from "pg";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { TryCounter, TryLimit } from "../../../identity/login/login-limits.ts";
import { translateDatabaseError } from "../../storage-error.ts";

/** Counts attempts in PostgreSQL, with one atomic statement each. `name` separates the counters of different limits. */
export function createTryCounter(pool: pg.Pool, name: string, limit: TryLimit): TryCounter {
  const limiter = new RateLimiterPostgres({
    storeClient: pool,
    storeType: "pool",
    tableName: "login_failure",
    tableCreated: true,
    clearExpiredByTimeout: false,
    keyPrefix: name,
    points: limit.tries,
    duration: limit.windowSeconds,
    // After the limit is reached, attempts are rejected from memory.
    inMemoryBlockOnConsumed: limit.tries + 1,
  });
  return {
    async count(key) {
      try {
        await limiter.consume(key);
        return 0;
      } catch (rejected) {
        if (rejected instanceof RateLimiterRes) return Math.max(1, Math.ceil(rejected.msBeforeNext / 1_000));
        throw translateDatabaseError(rejected);
      }
    },
    async forget(key) {
      try {
        await limiter.delete(key);
      } catch (error) {
        throw translateDatabaseError(error);
      }
    },
  };
}
