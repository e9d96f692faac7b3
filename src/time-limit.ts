/** Calls back when something takes too long. */
export interface TimeLimit {
  /** Calls `expire` unless the returned function is called first. */
  start(expire: () => void): () => void;
}

/** Uses the same limit in milliseconds for every start. Its timers do not keep the process alive. */
export function createTimeLimit(limitMs: number): TimeLimit {
  return {
    start(expire) {
      const timer = setTimeout(expire, limitMs).unref();
      return () => {
        clearTimeout(timer);
      };
    },
  };
}
