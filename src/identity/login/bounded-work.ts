import { DomainError } from "../../domain-error.ts";

/** Runs work that is dear in memory and threads, a few at a time. */
export interface BoundedWork {
  /** The work's own result. Fails with `unavailable` when too many wait already. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A queue in order of arrival. */
export function createBoundedWork(limits: { readonly maxRunning: number; readonly maxWaiting: number }): BoundedWork {
  const waiting: (() => void)[] = [];
  let running = 0;

  return {
    async run(work) {
      if (running >= limits.maxRunning) {
        if (waiting.length >= limits.maxWaiting) {
          throw new DomainError("unavailable", "Too many people are logging in. Try again in a moment.", {
            retryAfterSeconds: 2,
          });
        }
        // Whoever leaves hands its place on, so that nobody who comes later takes it.
        await new Promise<void>((resolve) => waiting.push(resolve));
      } else {
        running += 1;
      }
      try {
        return await work();
      } finally {
        const next = waiting.shift();
        if (next === undefined) running -= 1;
        else next();
      }
    },
  };
}
