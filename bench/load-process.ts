import { fork } from "node:child_process";
import type { Job, Outcome } from "./load/job.ts";

/** The process that generates load, with an event loop separate from the measured processes. */
export interface LoadProcess {
  /** Runs a job. Throws if more than one response in a thousand was wrong. */
  run(job: Job): Promise<Outcome>;
  stop(): void;
}

export function startLoadProcess(): LoadProcess {
  const child = fork(new URL("load/main.ts", import.meta.url));
  let waiting: PromiseWithResolvers<Outcome> | undefined;
  child.on("message", (outcome: Outcome) => waiting?.resolve(outcome));
  child.on("exit", (code) => waiting?.reject(new Error(`the load process exited with ${String(code)}`)));
  return {
    run: async (job) => {
      waiting = Promise.withResolvers<Outcome>();
      child.send(job);
      const { good, wrong, example = "", ...rest } = await waiting.promise;
      if (wrong > 0.001 * good) throw new Error(`${job.url}: ${wrong} wrong and ${good} correct responses: ${example}`);
      return { good, wrong, ...rest };
    },
    stop: () => child.disconnect(),
  };
}
