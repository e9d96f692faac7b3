import type { HeaderFields } from "../http/exchange.ts";

/** The number of requests allowed per key in a window; 0 disables the limit. */
export interface RateQuota {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** A token bucket per key. Buckets refill evenly up to one full quota. */
export interface RateLimit {
  /** Consumes one token. Returns the number left, or a negative number if none was left and nothing was consumed. */
  take(key: string): number;
  /** Seconds until the next token is available, after `take` returned a negative number. */
  retryAfterSeconds(left: number): number;
  /** The `RateLimit` and `RateLimit-Policy` headers (draft-ietf-httpapi-ratelimit-headers) for a result of `take`. */
  headers(left: number): HeaderFields;
}

interface Bucket {
  tokens: number;
  /** The time at which `tokens` was computed, in milliseconds on the monotonic clock. */
  at: number;
}

/** Maximum number of buckets. The oldest is dropped first, and its key restarts with a full quota. */
const MAX_BUCKETS = 50_000;

/**
 * Creates a limit in this replica's memory. `name` is the policy name in the headers; `now` returns milliseconds.
 * Returns undefined if the quota is 0.
 */
export function createRateLimit(
  name: string,
  { requests, windowSeconds }: RateQuota,
  now: () => number = () => performance.now(),
): RateLimit | undefined {
  if (requests === 0) return undefined;
  const buckets = new Map<string, Bucket>();
  const perMs = requests / (windowSeconds * 1_000);
  const policy = `"${name}";q=${requests};w=${windowSeconds}`;

  function open(key: string, at: number): Bucket {
    if (buckets.size >= MAX_BUCKETS) {
      const [oldest] = buckets.keys();
      if (oldest !== undefined) buckets.delete(oldest);
    }
    const bucket = { tokens: requests, at };
    buckets.set(key, bucket);
    return bucket;
  }

  return {
    take(key) {
      const at = now();
      const bucket = buckets.get(key) ?? open(key, at);
      const tokens = Math.min(requests, bucket.tokens + (at - bucket.at) * perMs);
      bucket.at = at;
      bucket.tokens = tokens < 1 ? tokens : tokens - 1;
      return tokens < 1 ? tokens - 1 : Math.floor(tokens - 1);
    },
    retryAfterSeconds: (left) => Math.max(1, Math.ceil(-left / perMs / 1_000)),
    headers(left) {
      const resetSeconds = Math.ceil((requests - left) / perMs / 1_000);
      return {
        "ratelimit-policy": policy,
        ratelimit:
          left < 0
            ? `"${name}";r=0;t=${Math.max(1, Math.ceil(-left / perMs / 1_000))}`
            : `"${name}";r=${left};t=${resetSeconds}`,
      };
    },
  };
}
