import { createRing } from "./linked-list.ts";

/** Ends what takes too long. One coarse timer serves all of it: a timer each costs more than much of what it would end. */
export interface TimeLimit {
  /** Calls `expire` unless the returned function is called before; never too early, and a second late at most. */
  start(expire: () => void): () => void;
}

/** Something under way. */
interface Running {
  /** Monotonic milliseconds. */
  readonly since: number;
  readonly expire: () => void;
}

const SWEEP_MS = 1_000;

/** Makes a limit that is the same for all, in milliseconds. While nothing is under way there is no timer. */
export function createTimeLimit(limitMs: number): TimeLimit {
  const ring = createRing<Running>();
  let timer: NodeJS.Timeout | undefined;

  function watch(): void {
    timer ??= setTimeout(sweep, Math.min(SWEEP_MS, limitMs)).unref();
  }

  function sweep(): void {
    timer = undefined;
    const bound = performance.now() - limitMs;
    for (let late = ring.oldest(); late !== undefined && late.since <= bound; late = ring.oldest()) {
      ring.removeOldest();
      late.expire();
    }
    if (ring.oldest() !== undefined) watch();
  }

  return {
    start(expire) {
      watch();
      return ring.add({ since: performance.now(), expire });
    },
  };
}
