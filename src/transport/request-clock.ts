/** Ends requests that take too long. One coarse timer serves them all: a timer a request costs more than the request. */
export interface RequestClock {
  /** Calls `expire` once unless the returned function is called before. */
  start(expire: () => void): () => void;
  /** Stops the timer. */
  stop(): void;
}

/** A running request in a ring, in the order of their start. Out of the ring its neighbours are itself. */
interface Link {
  readonly since: number;
  readonly expire: () => void;
  before: Link;
  after: Link;
}

const SWEEP_MS = 1_000;

/**
 * Makes a clock that grants each request the given time in milliseconds, to the second.
 *
 * A ring and not a `Set`: a set that loses as many as it gains is copied ever again, and each copy that has grown old
 * keeps the requests of its time in memory until the next full collection.
 */
export function createRequestClock(limitMs: number): RequestClock {
  const ring = new Ring();
  const timer = setInterval(
    () => {
      const bound = performance.now() - limitMs;
      while (ring.after !== ring && ring.after.since <= bound) {
        const late = ring.after;
        unlink(late);
        late.expire();
      }
    },
    Math.min(SWEEP_MS, limitMs),
  );
  timer.unref();

  return {
    start: (expire) => {
      const link = { since: performance.now(), expire, before: ring.before, after: ring };
      ring.before.after = link;
      ring.before = link;
      return () => unlink(link);
    },
    stop: () => {
      clearInterval(timer);
    },
  };
}

/** The ring's own link, which never expires. */
class Ring implements Link {
  readonly since = Infinity;
  readonly expire = (): void => {};
  before: Link = this;
  after: Link = this;
}

function unlink(link: Link): void {
  link.before.after = link.after;
  link.after.before = link.before;
  link.before = link;
  link.after = link;
}
