import { setTimeout as sleep } from "node:timers/promises";

/**
 * How recently a load balancer must have asked for the readiness to count as still sending requests, in milliseconds.
 */
const BALANCER_MS = 60_000;

/** Whether load balancers should send requests to this replica. */
export interface Readiness {
  isReady(): Promise<boolean>;
  /** The start is complete. */
  enter(): void;
  /**
   * Becomes not ready, and resolves once load balancers had the time to notice. Resolves at once if nothing asked for the
   * readiness, because then nothing depends on it.
   */
  leave(): Promise<void>;
}

export function createReadiness(isHealthy: () => Promise<boolean>, delayMs: number): Readiness {
  let isServing = false;
  let askedAt = Number.NEGATIVE_INFINITY;
  return {
    async isReady() {
      askedAt = performance.now();
      return isServing && (await isHealthy());
    },
    enter() {
      isServing = true;
    },
    async leave() {
      isServing = false;
      if (performance.now() - askedAt < BALANCER_MS) await sleep(delayMs);
    },
  };
}
