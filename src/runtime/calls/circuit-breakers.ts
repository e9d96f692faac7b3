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
export type Ending = "answered" | "failed" | "unknown";

/**
 * Circuits of this replica, one a connection: after five failures in a row within a minute nothing is sent for a while, then
 * one call as a trial; its success closes the circuit, its failure doubles the pause.
 */
export interface Circuits {
  /** Asks whether a call may go out now. Whoever is let through must say how it ended. */
  admit(connection: CircuitKey): Admission;
  /** Tells how a call ended that `admit` let through. */
  ended(connection: CircuitKey, admission: Admission, ending: Ending): void;
}

interface Trouble {
  readonly keyVersion: number;
  /** When the failures since the last answer were, in milliseconds; at most five. */
  failedAt: number[];
  /** Undefined while the circuit is closed. */
  open: { until: number; readonly pauseMs: number; isTried: boolean } | undefined;
}

/** Makes the circuits. `now` is milliseconds since 1970. */
export function createCircuits({ now = Date.now }: { readonly now?: () => number } = {}): Circuits {
  const troubles = new LRUCache<number, Trouble>(atMost(MAX_REMEMBERED));

  function troubleOf({ id, keyVersion }: CircuitKey): Trouble | undefined {
    const trouble = troubles.get(id);
    return trouble?.keyVersion === keyVersion ? trouble : undefined;
  }

  function openFor(trouble: Trouble, pauseMs: number): void {
    trouble.open = { until: now() + pauseMs, pauseMs, isTried: false };
  }

  function failed(connection: CircuitKey, isTrial: boolean): void {
    const trouble = troubleOf(connection) ?? { keyVersion: connection.keyVersion, failedAt: [], open: undefined };
    troubles.set(connection.id, trouble);
    if (trouble.open !== undefined) {
      // Calls that were under way when it opened say nothing new.
      if (isTrial) openFor(trouble, Math.min(trouble.open.pauseMs * 2, LONGEST_PAUSE_MS));
      return;
    }
    trouble.failedAt = [...trouble.failedAt, now()].filter((at) => at > now() - WINDOW_MS);
    if (trouble.failedAt.length >= FAILURES) openFor(trouble, FIRST_PAUSE_MS);
  }

  return {
    admit(connection) {
      const open = troubleOf(connection)?.open;
      if (open === undefined) return { kind: "closed" };
      if (open.isTried || now() < open.until) return { kind: "open", nextAttemptAt: new Date(open.until) };
      open.isTried = true;
      return { kind: "trial" };
    },

    ended(connection, admission, ending) {
      const isTrial = admission.kind === "trial";
      if (ending === "failed") {
        failed(connection, isTrial);
        return;
      }
      const trouble = troubleOf(connection);
      if (trouble === undefined) return;
      if (ending === "answered") troubles.delete(connection.id);
      // The next call is the trial then.
      else if (isTrial && trouble.open !== undefined) trouble.open.isTried = false;
    },
  };
}
