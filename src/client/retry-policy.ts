/** The number of attempts, and the waits between them. */
export interface RetryPolicy {
  /** The total number of attempts; 1 disables retries. */
  readonly attempts: number;
  /** The wait before the second attempt, in milliseconds. It doubles with each further attempt. */
  readonly firstWaitMs: number;
  /** The longest wait, in milliseconds. If the service asks for a longer one, the caller receives its response. */
  readonly longestWaitMs: number;
}

/** Four attempts within about two seconds, or up to twenty seconds if the service asks for it. */
export const DEFAULT_RETRIES: RetryPolicy = { attempts: 4, firstWaitMs: 200, longestWaitMs: 20_000 };

/**
 * Returns the wait after a failed attempt (counted from 1), in milliseconds: the time that the service asked for, or a
 * back-off with jitter. Undefined if there should be no further attempt.
 */
export function waitAfter(policy: RetryPolicy, attempt: number, retryAfter: string | null): number | undefined {
  if (attempt >= policy.attempts) return undefined;
  const asked = readRetryAfter(retryAfter);
  if (asked !== undefined) return asked <= policy.longestWaitMs ? asked : undefined;
  const backOff = Math.min(policy.firstWaitMs * 2 ** (attempt - 1), policy.longestWaitMs);
  return backOff / 2 + (Math.random() * backOff) / 2;
}

/** Reads `Retry-After` in milliseconds: seconds or a date (RFC 9110, 10.2.3). */
function readRetryAfter(value: string | null): number | undefined {
  if (value === null) return undefined;
  if (/^\d+$/.test(value)) return Number(value) * 1000;
  const date = Date.parse(value);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

/** Waits, or throws the signal's reason when it is aborted. */
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
