import { RateLimiterMemory, type RateLimiterRes } from "rate-limiter-flexible";
import { DomainError } from "../../../domain-error.ts";

/** Slows down callers that guess secrets, without affecting other callers. */
export interface FailedAttempts {
  /** Fails with 429 if the address, or the client from this address, has too many failures. */
  check(address: string, clientId: string): Promise<void>;
  /** Counts a failure. */
  count(address: string, clientId: string): Promise<void>;
}

const WINDOW_SECONDS = 60;
const FAILURES_PER_CLIENT = 60;
/** Also limits the number of counters per address. */
const FAILURES_PER_ADDRESS = 600;

/**
 * Counts failures in this replica's memory. A database row per failure would let anonymous callers write, and secrets
 * of at least 128 bits need no exact count.
 */
export function createFailedAttempts(): FailedAttempts {
  const byClient = new RateLimiterMemory({ points: FAILURES_PER_CLIENT, duration: WINDOW_SECONDS });
  const byAddress = new RateLimiterMemory({ points: FAILURES_PER_ADDRESS, duration: WINDOW_SECONDS });

  function isSpent(state: RateLimiterRes | null, points: number): state is RateLimiterRes {
    return state !== null && state.consumedPoints >= points;
  }
  return {
    async check(address, clientId) {
      const [client, caller] = await Promise.all([byClient.get(`${address} ${clientId}`), byAddress.get(address)]);
      const spent = isSpent(client, FAILURES_PER_CLIENT)
        ? client
        : isSpent(caller, FAILURES_PER_ADDRESS)
          ? caller
          : undefined;
      if (spent === undefined) return;
      const retryAfterSeconds = spent.msBeforeNext / 1_000;
      throw new DomainError("exhausted", "Too many failed attempts. Try again later.", { retryAfterSeconds });
    },
    async count(address, clientId) {
      await Promise.all([byClient.penalty(`${address} ${clientId}`, 1), byAddress.penalty(address, 1)]);
    },
  };
}
