import type { UpstreamAnswer } from "../../upstream-exchange.ts";
import { retryAfterMs } from "../../retry-after.ts";

/** Larger numbers are timestamps in seconds since 1970, smaller ones seconds to wait. */
const EPOCH_SECONDS = 1_000_000_000;

/** Some vendors answer 403 when a rate limit is reached and say so in headers. */
export function effectiveStatus({ status, headers }: UpstreamAnswer): number {
  const isLimit =
    status === 403 && (headers["retry-after"] !== undefined || headers["x-ratelimit-remaining"]?.trim() === "0");
  return isLimit ? 429 : status;
}

/** Returns the milliseconds that an answer asks to wait: `Retry-After`, or the reset headers of a rate limit. */
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
