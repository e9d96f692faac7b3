import { DomainError } from "../../domain-error.ts";

/** Limits concurrent work that is expensive in memory and threads. */
export interface BoundedWork {
  /** Returns the work's result. Throws `unavailable` if too many callers wait. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** Waiting callers run in order of arrival. */
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
        // The finishing caller passes its slot on, so that a later caller cannot take it.
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
