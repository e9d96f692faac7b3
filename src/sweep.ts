import type { Logger } from "pino";

const SWEEP_MS = 60_000;

/** Runs each step independently: an error is logged, and the next sweep retries the step. */
export async function runSteps(steps: Readonly<Record<string, () => Promise<unknown>>>, log: Logger): Promise<void> {
  for (const [step, run] of Object.entries(steps)) {
    try {
      await run();
    } catch (error) {
      log.warn({ err: error, step }, "a step of the sweep failed; the next sweep retries it");
    }
  }
}

/** Repeats the work about a minute after it last ended. Jitter separates replicas that started together. */
export function repeat(work: () => Promise<void>): () => void {
  let timer: NodeJS.Timeout | undefined;
  const schedule = (): void => {
    timer = setTimeout(() => void work().then(schedule), SWEEP_MS * (0.5 + Math.random())).unref();
  };
  schedule();
  return () => {
    clearTimeout(timer);
  };
}
