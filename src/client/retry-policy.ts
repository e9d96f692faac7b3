/** How often and after which waits something is tried again. */
export interface RetryPolicy {
  /** How often it is tried in all; 1 means that nothing is tried again. */
  readonly attempts: number;
  /** The wait before the second attempt, in milliseconds; it doubles with each further one. */
  readonly firstWaitMs: number;
  /** The longest wait, in milliseconds. A service that asks for a longer one has its answer handed to the caller. */
  readonly longestWaitMs: number;
}

/** Four attempts within about two seconds, and up to twenty seconds where the service asks for them. */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 4, firstWaitMs: 200, longestWaitMs: 20_000 };

/**
 * How long to wait after a failed attempt (counted from 1), in milliseconds: what the service asked for, or a back-off
 * of which half is chance, so that clients do not come back all at once. Undefined when nothing should be tried again.
 */
export function waitAfter(policy: RetryPolicy, attempt: number, retryAfter: string | null): number | undefined {
  if (attempt >= policy.attempts) return undefined;
  const asked = readRetryAfter(retryAfter);
  if (asked !== undefined) return asked <= policy.longestWaitMs ? asked : undefined;
  const backOff = Math.min(policy.firstWaitMs * 2 ** (attempt - 1), policy.longestWaitMs);
  return backOff / 2 + (Math.random() * backOff) / 2;
}

/** `Retry-After` in milliseconds: seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Waits, or fails with the signal's reason as soon as it is aborted. */
export async function pause(waitMs: number, signal: AbortSignal): Promise<void> {
  signal.throwIfAborted();
  await new Promise<void>((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, waitMs);
    signal.addEventListener("abort", done);
  });
  signal.throwIfAborted();
}
