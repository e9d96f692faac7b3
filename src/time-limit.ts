/** Ends what takes too long. */
export interface TimeLimit {
  /** Calls `expire` unless the returned function is called before. */
  start(expire: () => void): () => void;
}

/** Creates a limit that is the same for all, in milliseconds. It keeps no process alive. */
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
