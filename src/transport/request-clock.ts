import { createRing } from "../ring.ts";

/** Ends requests that take too long. One coarse timer serves them all: a timer a request costs more than the request. */
export interface RequestClock {
  /** Calls `expire` once unless the returned function is called before. */
  start(expire: () => void): () => void;
  /** Stops the timer. */
  stop(): void;
}

/** A running request. */
interface Running {
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly expire: () => void;
}

const SWEEP_MS = 1_000;

/** Makes a clock that grants each request the given time in milliseconds, to the second. */
export function createRequestClock(limitMs: number): RequestClock {
  const ring = createRing<Running>();
  const timer = setInterval(
    () => {
      const bound = performance.now() - limitMs;
      for (let late = ring.oldest(); late !== undefined && late.since <= bound; late = ring.oldest()) {
        ring.removeOldest();
        late.expire();
      }
    },
    Math.min(SWEEP_MS, limitMs),
  );
  timer.unref();

  return {
    start: (expire) => ring.add({ since: performance.now(), expire }),
    stop: () => {
      clearInterval(timer);
    },
  };
}
