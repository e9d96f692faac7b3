import type { AttemptResult, DueDelivery, Verdict } from "./delivery-queue.ts";
import { DELIVERY_DAYS } from "./webhook.ts";

const DAY_MS = 86_400_000;
const FIRST_PAUSE_SECONDS = 5;
const LONGEST_PAUSE_SECONDS = 4 * 3_600;
/** The factor between two pauses: 5 s, 30 s, 3 min, 18 min, 108 min, then every 4 hours. */
const PAUSE_FACTOR = 6;
/** The largest share by which jitter extends a pause, so that the retries after an outage of a receiver spread out. */
const JITTER = 0.2;

/** HTTP status by which a receiver says that it wants no more events. */
const GONE = 410;

/** The pause after `failures` failed attempts in a row, at least 1, in seconds. */
export function retryPauseSeconds(failures: number, random: number): number {
  const seconds = Math.min(FIRST_PAUSE_SECONDS * PAUSE_FACTOR ** (failures - 1), LONGEST_PAUSE_SECONDS);
  return Math.round(seconds * (1 + random * JITTER));
}

/**
 * Decides what follows from an attempt. A delivery is tried for three days. A webhook without a successful attempt for
 * three days is disabled, as is one whose receiver answers 410.
 */
export function judgeAttempt(
  { attempts, queuedAt, failures, failingSince }: DueDelivery,
  { responseStatus, error }: AttemptResult,
  now: Date,
  random: number,
): Verdict {
  if (error === undefined) return { kind: "delivered" };
  if (responseStatus === GONE) return { kind: "disable", reason: "The receiver answered 410 Gone." };
  const hasPassed = (since: Date | undefined): boolean =>
    since !== undefined && now.getTime() - since.getTime() >= DELIVERY_DAYS * DAY_MS;
  if (hasPassed(failingSince))
    return { kind: "disable", reason: `All attempts failed for ${DELIVERY_DAYS} days. The last error: ${error}` };
  const pauseSeconds = retryPauseSeconds(failures + 1, random);
  if (hasPassed(queuedAt)) return { kind: "give_up", pauseSeconds };
  return { kind: "retry", afterSeconds: retryPauseSeconds(attempts + 1, random), pauseSeconds };
}
