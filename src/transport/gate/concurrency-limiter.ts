import { DomainError } from "../../domain-error.ts";

/** How many calls may do work at the same time, and how the others wait. */
export interface LaneLimits {
  readonly maxInFlight: number;
  /** Calls that wait for a place; the next one is turned away. */
  readonly maxWaiting: number;
  /** How long a call may wait before it is turned away, in milliseconds. */
  readonly maxWaitMs: number;
}

/** Bounds the work in flight, so that overload costs the surplus a 503 and not everybody their latency. */
export interface Lane {
  /** Whether the next one would be turned away, so that it can be before it has cost anything. */
  isFull(): boolean;
  /** Undefined: go ahead. Otherwise resolves once there is a place; rejects with `unavailable` when there is none in time. */
  enter(): Promise<void> | undefined;
  /** Gives the place back. Exactly once after each entry. */
  leave(): void;
}

interface Waiting {
  readonly since: number;
  readonly admit: () => void;
  readonly refuse: (error: DomainError) => void;
}

/** Makes a lane. */
export function createLane(limits: LaneLimits): Lane {
  const waiting: Waiting[] = [];
  let inFlight = 0;
  let timer: NodeJS.Timeout | undefined;

  const dropLate = (): void => {
    timer = undefined;
    const bound = performance.now() - limits.maxWaitMs;
    for (let first = waiting[0]; first !== undefined && first.since <= bound; first = waiting[0]) {
      waiting.shift();
      first.refuse(BUSY);
    }
    schedule();
  };
  const schedule = (): void => {
    const [first] = waiting;
    if (first === undefined || timer !== undefined) return;
    timer = setTimeout(dropLate, Math.max(1, first.since + limits.maxWaitMs - performance.now()));
  };

  return {
    isFull: () => waiting.length >= limits.maxWaiting,
    enter: () => {
      if (inFlight < limits.maxInFlight) {
        inFlight += 1;
        return undefined;
      }
      if (waiting.length >= limits.maxWaiting) return Promise.reject(BUSY);
      return new Promise((admit, refuse) => {
        waiting.push({ since: performance.now(), admit, refuse });
        schedule();
      });
    },
    leave: () => {
      const next = waiting.shift();
      if (next === undefined) inFlight -= 1;
      else next.admit();
    },
  };
}

/** What a call hears that is turned away. One for all: to make an error costs more than to refuse a call. */
export const BUSY = new DomainError("unavailable", "The service is busy. Try again in a moment.", {
  retryAfterSeconds: 1,
  reason: "OVERLOADED",
});
