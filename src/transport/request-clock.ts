/** Ends requests that take too long. One coarse timer serves them all: a timer a request costs more than the request. */
export interface RequestClock {
  /** Calls `expire` once unless the returned function is called before. */
  start(expire: () => void): () => void;
  /** Stops the timer. */
  stop(): void;
}

const SWEEP_MS = 1_000;

/** Makes a clock that grants each request the given time in milliseconds, to the second. */
export function createRequestClock(limitMs: number): RequestClock {
  const running = new Set<{ readonly since: number; readonly expire: () => void }>();
  const timer = setInterval(
    () => {
      const bound = performance.now() - limitMs;
      for (const request of running) {
        // In order of their start: the first one in time ends the sweep.
        if (request.since > bound) break;
        running.delete(request);
        request.expire();
      }
    },
    Math.min(SWEEP_MS, limitMs),
  );
  timer.unref();

  return {
    start: (expire) => {
      const request = { since: performance.now(), expire };
      running.add(request);
      return () => {
        running.delete(request);
      };
    },
    stop: () => {
      clearInterval(timer);
    },
  };
}
