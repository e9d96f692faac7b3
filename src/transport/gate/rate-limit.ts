import type { HeaderFields } from "../http/exchange.ts";

/** How many requests a window allows under one key; 0 allows any number. */
export interface RateQuota {
  readonly requests: number;
  readonly windowSeconds: number;
}

/** What a request takes from a quota. Buckets fill up evenly, and hold at most one whole quota. */
export interface RateLimit {
  /** Takes one; what is left after it, or a negative number when there was none, and then nothing is taken. */
  take(key: string): number;
  /** Seconds until the next may be taken, where `take` gave a negative number. */
  retryAfterSeconds(left: number): number;
  /** The `RateLimit` and `RateLimit-Policy` headers (draft-ietf-httpapi-ratelimit-headers) for what `take` gave. */
  headers(left: number): HeaderFields;
}

interface Bucket {
  tokens: number;
  /** When `tokens` was right, in milliseconds on the monotonic clock. */
  at: number;
}

/** Buckets that are kept at most; the one that came first goes first, and its key starts anew with a whole quota. */
const MAX_BUCKETS = 50_000;

/**
 * Counts in this replica's memory: a look-up in a map and two numbers, no timer, no promise. `name` is what the headers
 * call the policy; `now` is in milliseconds. Undefined where the quota is 0: nothing is counted and no header sent.
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
