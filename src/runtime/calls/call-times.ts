import type { Connection } from "../../connections/connection.ts";

/** How long a call may take, in milliseconds. */
export interface CallTimes {
  /** Without progress. */
  readonly idleMs: number;
  /** In all. */
  readonly maxMs: number;
}

/**
 * The limits of a connection's calls. A connection can set its own limits, up to the operator's limit for a whole call.
 */
export function callTimesOf(
  { callIdleSeconds, callMaxSeconds }: Pick<Connection, "callIdleSeconds" | "callMaxSeconds">,
  times: CallTimes,
): CallTimes {
  if (callIdleSeconds === 0 && callMaxSeconds === 0) return times;
  const maxMs = Math.min(times.maxMs, callMaxSeconds === 0 ? times.maxMs : callMaxSeconds * 1_000);
  const idleMs = callIdleSeconds === 0 ? times.idleMs : callIdleSeconds * 1_000;
  return { idleMs: Math.min(idleMs, maxMs), maxMs };
}

/** The default of `CALL_IDLE_SECONDS` and `CALL_MAX_SECONDS` (DESIGN §7). */
export const DEFAULT_CALL_TIMES: CallTimes = { idleMs: 300_000, maxMs: 3_600_000 };

/** The limit that ended a call. */
export type PassedLimit = "idle" | "max";

/** Says that a call ended at a limit. */
export function timeoutText(
  { name }: Pick<Connection, "name">,
  { idleMs, maxMs }: CallTimes,
  limit: PassedLimit,
): string {
  return limit === "idle"
    ? `The connection "${name}" did not answer within ${idleMs / 1000} seconds and reported no progress.`
    : `The connection "${name}" did not answer within ${maxMs / 1000} seconds, which is the limit for a whole call.`;
}
