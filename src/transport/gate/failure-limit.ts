import { RateLimiterMemory, RateLimiterRes } from "rate-limiter-flexible";

/** The number of failed authentications allowed per address. */
export interface FailureLimits {
  readonly maxFailures: number;
  readonly windowSeconds: number;
}

/** Generous, because legitimate callers rarely fail and a failure costs only one signature check. */
export const FAILURE_LIMITS: FailureLimits = { maxFailures: 3_000, windowSeconds: 60 };

/** The rate limit before authentication, per address and replica. Requests with a valid token do not count. */
export interface FailureLimit {
  /** Whether any address is blocked. If not, callers need not determine the address. */
  hasBlocked(): boolean;
  /** Seconds until the address may try again, 0 if it may now. */
  secondsBlocked(address: string): number;
  /** Counts a request without valid credentials. */
  countFailure(address: string): void;
}

/** Maximum number of blocked addresses remembered; the oldest is dropped first. */
const MAX_BLOCKED = 10_000;

/** Counts failures in memory, so that the lookup before a request is synchronous. */
export function createFailureLimit(limits: FailureLimits): FailureLimit {
  const counter = new RateLimiterMemory({ points: limits.maxFailures, duration: limits.windowSeconds });
  const blockedUntil = new Map<string, number>();

  return {
    hasBlocked: () => blockedUntil.size > 0,
    secondsBlocked: (address) => {
      const until = blockedUntil.get(address);
      if (until === undefined) return 0;
      const leftMs = until - Date.now();
      if (leftMs > 0) return Math.ceil(leftMs / 1000);
      blockedUntil.delete(address);
      return 0;
    },
    countFailure: (address) => {
      counter.consume(address).catch((rejected: unknown) => {
        if (!(rejected instanceof RateLimiterRes)) return;
        const [oldest] = blockedUntil.keys();
        if (blockedUntil.size >= MAX_BLOCKED && oldest !== undefined) blockedUntil.delete(oldest);
        blockedUntil.set(address, Date.now() + rejected.msBeforeNext);
      });
    },
  };
}
