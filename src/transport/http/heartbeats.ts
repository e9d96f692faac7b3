/** How often a request that waits for an upstream gets a heartbeat, in milliseconds. Many proxies close after 60 s. */
export const HEARTBEAT_MS = 15_000;

/** Keeps connections open while requests wait for upstreams. */
export interface Heartbeats {
  /** Calls `beat` at intervals until the returned function is called. `beat` must not throw. */
  start(beat: () => void): () => void;
}

/** One timer serves all requests; a request that ends within the interval costs nothing else. */
export function createHeartbeats(intervalMs: number): Heartbeats {
  const waiting = new Set<{ readonly beat: () => void; isDue: boolean }>();
  let timer: NodeJS.Timeout | undefined;

  function schedule(): void {
    if (timer !== undefined || waiting.size === 0) return;
    timer = setTimeout(() => {
      timer = undefined;
      for (const one of waiting) {
        if (one.isDue) one.beat();
        one.isDue = true;
      }
      schedule();
    }, intervalMs).unref();
  }

  return {
    start(beat) {
      const one = { beat, isDue: false };
      waiting.add(one);
      schedule();
      return () => waiting.delete(one);
    },
  };
}
