import type { UpstreamAnswer } from "../../upstream-exchange.ts";
import { retryAfterMs } from "../../retry-after.ts";

/** Numbers from here on are moments in seconds since 1970, below it they are seconds to wait. */
const EPOCH_SECONDS = 1_000_000_000;

/**
 * The status that an answer amounts to: some vendors answer 403 when a rate limit is reached, and say so in their headers.
 */
export function effectiveStatus({ status, headers }: UpstreamAnswer): number {
  const isLimit =
    status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"]?.trim() === "0");
  return isLimit ? 429 : status;
}

/**
 * Milliseconds that an answer asks to wait, by `Retry-After` or, where a rate limit is reached, by the moment at which its
 * headers say that it begins anew; undefined when it does not say.
 */
export function requestedWaitMs(answer: UpstreamAnswer, nowMs = Date.now()): number | undefined {
  const status = effectiveStatus(answer);
  if (status !== 429 && status !== 503) return undefined;
  const asked = retryAfterMs(answer.headers["retry-after"], nowMs);
  if (asked !== undefined || status === 503) return asked;
  const reset = answer.headers["x-ratelimit-reset"] ?? answer.headers["ratelimit-reset"];
  const seconds = reset === undefined || !/^\d{1,13}(\.\d+)?$/.test(reset.trim()) ? undefined : Number(reset);
  if (seconds === undefined) return undefined;
  return seconds < EPOCH_SECONDS ? seconds * 1_000 : Math.max(0, seconds * 1_000 - nowMs);
}
