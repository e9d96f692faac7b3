import { fork } from "node:child_process";
import type { Job, Outcome } from "./load/job.ts";

/** The process that makes the load, so that it does not share an event loop with anything that is measured. */
export interface LoadProcess {
  /** Does a job; fails when more than one answer in a thousand was wrong. */
  run(job: Job): Promise<Outcome>;
  stop(): void;
}

/** Starts it. */
export function startLoadProcess(): LoadProcess {
  const child = fork(new URL("load/main.ts", import.meta.url));
  let waiting: PromiseWithResolvers<Outcome> | undefined;
  child.on("message", (outcome: Outcome) => waiting?.resolve(outcome));
  child.on("exit", (code) => waiting?.reject(new Error(`the load process ended with ${String(code)}`)));
  return {
    run: async (job) => {
      waiting = Promise.withResolvers<Outcome>();
      child.send(job);
      const { good, wrong, example = "", ...rest } = await waiting.promise;
      if (wrong > 0.001 * good)
        throw new Error(`${job.url}: ${wrong} wrong answers beside ${good} good ones: ${example}`);
      return { good, wrong, ...rest };
    },
    stop: () => child.disconnect(),
  };
}
