import type pg from "pg";
import { RateLimiterPostgres, RateLimiterRes } from "rate-limiter-flexible";
import type { TryCounter, TryLimit } from "../../../identity/login/login-limits.ts";
import { translateDatabaseError } from "../../storage-error.ts";

/** Counts tries in PostgreSQL, one atomic statement each. `name` keeps the counts of one limit apart from another's. */
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
    // Who is refused is refused from memory from then on.
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
