import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";

/** Failures in a row, all within the window, that open a circuit. */
const FAILURES = 5;
const WINDOW_MS = 60_000;
/** How long an open circuit lets nothing through; doubled after every trial that fails. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** Connections in trouble that are remembered; forgetting one costs its upstream five more calls. */
const MAX_REMEMBERED = 20_000;

/** A connection as a circuit knows it: a new key or destination is a new upstream. */
export interface CircuitKey {
  readonly id: number;
  readonly keyVersion: number;
}

/** Whether a call may go out. A `trial` is the one call that decides whether the circuit closes. */
export type Admission =
  | { readonly kind: "closed" }
  | { readonly kind: "trial" }
  /** `nextAttemptAt` has passed while a trial is under way. */
  | { readonly kind: "open"; readonly nextAttemptAt: Date };

/** How a call that was let through ended: `unknown` where it says nothing about the upstream. */
export type CallEnding = "answered" | "failed" | "unknown";

/**
 * Circuits of this replica, one a connection: after five failures in a row within a minute nothing is sent for a while, then
 * one call as a trial; its success closes the circuit, its failure doubles the pause.
 */
export interface CircuitBreakers {
  /** Asks whether a call may go out now. Whoever is let through must say how it ended. */
  admit(connection: CircuitKey): Admission;
  /** Tells how a call ended that `admit` let through. */
  ended(connection: CircuitKey, admission: Admission, callEnding: CallEnding): void;
}

interface FailureRecord {
  readonly keyVersion: number;
  /** When the failures since the last answer were, in milliseconds; at most five. */
  failedAt: number[];
  /** Undefined while the circuit is closed. */
  open: { until: number; readonly pauseMs: number; isTrialRunning: boolean } | undefined;
}

/** Makes the circuits. `now` is milliseconds since 1970. */
export function createCircuitBreakers({ now = Date.now }: { readonly now?: () => number } = {}): CircuitBreakers {
  const records = new LRUCache<number, FailureRecord>(atMost(MAX_REMEMBERED));

  function recordOf({ id, keyVersion }: CircuitKey): FailureRecord | undefined {
    const record = records.get(id);
    return record?.keyVersion === keyVersion ? record : undefined;
  }

  function openFor(record: FailureRecord, pauseMs: number): void {
    record.open = { until: now() + pauseMs, pauseMs, isTrialRunning: false };
  }

  function failed(connection: CircuitKey, isTrial: boolean): void {
    const record = recordOf(connection) ?? { keyVersion: connection.keyVersion, failedAt: [], open: undefined };
    records.set(connection.id, record);
    if (record.open !== undefined) {
      // Calls that were under way when it opened say nothing new.
      if (isTrial) openFor(record, Math.min(record.open.pauseMs * 2, LONGEST_PAUSE_MS));
      return;
    }
    record.failedAt = [...record.failedAt, now()].filter((at) => at > now() - WINDOW_MS);
    if (record.failedAt.length >= FAILURES) openFor(record, FIRST_PAUSE_MS);
  }

  return {
    admit(connection) {
      const open = recordOf(connection)?.open;
      if (open === undefined) return { kind: "closed" };
      if (open.isTrialRunning || now() < open.until) return { kind: "open", nextAttemptAt: new Date(open.until) };
      open.isTrialRunning = true;
      return { kind: "trial" };
    },

    ended(connection, admission, callEnding) {
      const isTrial = admission.kind === "trial";
      if (callEnding === "failed") {
        failed(connection, isTrial);
        return;
      }
      const record = recordOf(connection);
      if (record === undefined) return;
      if (callEnding === "answered") records.delete(connection.id);
      // The next call is the trial then.
      else if (isTrial && record.open !== undefined) record.open.isTrialRunning = false;
    },
  };
}
