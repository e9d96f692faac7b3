import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";

/** Consecutive failures within the window that open a circuit. */
const FAILURES = 5;
const WINDOW_MS = 60_000;
/** How long a circuit stays open at first, in milliseconds. Each failed trial doubles the time. */
const FIRST_PAUSE_MS = 10_000;
const LONGEST_PAUSE_MS = 300_000;
/** How long a trial keeps the other calls waiting, in milliseconds. The trial itself may take longer. */
const TRIAL_MS = 30_000;
/** Number of failing connections that are tracked. An evicted connection gets five more calls. */
const MAX_REMEMBERED = 20_000;

/** A connection with a new key or destination has a new circuit. */
export interface CircuitKey {
  readonly id: number;
  readonly keyVersion: number;
}

/** Whether a call may be sent. The result of a `trial` call closes the circuit or keeps it open. */
export type Admission =
  | { readonly kind: "closed" }
  | { readonly kind: "trial" }
  /** `nextAttemptAt` is in the past while a trial is running. */
  | { readonly kind: "open"; readonly nextAttemptAt: Date };

/** `unknown` if the result says nothing about the upstream. */
export type CallEnding = "answered" | "failed" | "unknown";

/**
 * One circuit breaker per connection and replica. Five consecutive failures within a minute open the circuit for a
 * while; then one trial call is sent. Its success closes the circuit, its failure doubles the pause.
 */
export interface CircuitBreakers {
  /** Whether a call may be sent now. The caller must report the end of an admitted call to `ended`. */
  admit(connection: CircuitKey): Admission;
  /** Reports how an admitted call ended. */
  ended(connection: CircuitKey, admission: Admission, callEnding: CallEnding): void;
}

interface FailureRecord {
  readonly keyVersion: number;
  /** Times of the failures since the last response, in milliseconds; at most five. */
  failedAt: number[];
  /** Undefined while the circuit is closed. */
  open: { until: number; readonly pauseMs: number; trialUntil: number } | undefined;
}

/** `now` returns milliseconds since 1970. */
export function createCircuitBreakers({ now = Date.now }: { readonly now?: () => number } = {}): CircuitBreakers {
  const records = new LRUCache<number, FailureRecord>(atMost(MAX_REMEMBERED));

  function recordOf({ id, keyVersion }: CircuitKey): FailureRecord | undefined {
    const record = records.get(id);
    return record?.keyVersion === keyVersion ? record : undefined;
  }

  function openFor(record: FailureRecord, pauseMs: number): void {
    record.open = { until: now() + pauseMs, pauseMs, trialUntil: 0 };
  }

  function failed(connection: CircuitKey, isTrial: boolean): void {
    const record = recordOf(connection) ?? { keyVersion: connection.keyVersion, failedAt: [], open: undefined };
    records.set(connection.id, record);
    if (record.open !== undefined) {
      // Calls that started before the circuit opened do not extend the pause.
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
      if (now() < Math.max(open.until, open.trialUntil)) return { kind: "open", nextAttemptAt: new Date(open.until) };
      open.trialUntil = now() + TRIAL_MS;
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
      // The next call becomes the trial.
      else if (isTrial && record.open !== undefined) record.open.trialUntil = 0;
    },
  };
}
