import { Worker } from "node:worker_threads";
import type { JsonObject } from "../../json.ts";
import type { CheckReport, CheckRequest } from "./check-worker.ts";

/** Limits of one check. */
export interface CheckLimits {
  /** CPU time of compiling and validating, in milliseconds. */
  readonly cpuMs: number;
  readonly maxHeapMb: number;
}

/** The outcome of a check. */
export type CheckOutcome =
  | { readonly kind: "checked"; readonly problem: string | undefined }
  /** The thread ended. `isCompiled`: the schema was already compiled, so checking the value took the time. */
  | { readonly kind: "overran"; readonly isCompiled: boolean }
  | { readonly kind: "failed"; readonly error: unknown };

/** A worker thread that runs one check at a time. */
export interface CheckThread {
  check(digest: string, schema: JsonObject, text: string): Promise<CheckOutcome>;
  /** Whether it can run another check. */
  isAlive(): boolean;
  terminate(): Promise<void>;
}

/** Number of compiled schemas that a thread caches. */
const MAX_COMPILED = 50;
/** A check is given up after this many times its CPU limit in elapsed time. */
const WALL_FACTOR = 20;

/** Starts a thread. It costs about 50 ms and 15 MiB. */
export function startCheckThread(limits: CheckLimits): CheckThread {
  const worker = new Worker(new URL("./check-worker.ts", import.meta.url), {
    resourceLimits: { maxOldGenerationSizeMb: limits.maxHeapMb },
    env: {},
    // Modules preloaded into the service are not loaded into its threads.
    execArgv: [],
  });
  const started = Promise.withResolvers<undefined>();
  const compiled = new Set<string>();
  let isAlive = true;
  let cpuUs = 0;
  let heapBytes = 0;
  let isCompiled = false;
  let settle: ((outcome: CheckOutcome) => void) | undefined;
  let timers: NodeJS.Timeout[] = [];

  function finish(outcome: CheckOutcome): void {
    for (const timer of timers) clearTimeout(timer);
    timers = [];
    worker.unref();
    const settling = settle;
    settle = undefined;
    settling?.(outcome);
  }

  /** Marks the thread as unusable before it ends, because checks sent to it now would be lost. */
  async function die(outcome: CheckOutcome): Promise<void> {
    if (!isAlive) return;
    isAlive = false;
    started.resolve(undefined);
    finish(outcome);
    await worker.terminate();
  }

  worker.on("message", (report: CheckReport) => {
    if (report.kind === "checked") {
      ({ cpuUs, heapBytes } = report);
      finish({ kind: "checked", problem: report.problem });
    } else if (report.kind === "compiled") isCompiled = true;
    else started.resolve(undefined);
  });
  worker.on("error", (error: unknown) => {
    const isMemory = error instanceof Error && "code" in error && error.code === "ERR_WORKER_OUT_OF_MEMORY";
    void die(isMemory ? { kind: "overran", isCompiled } : { kind: "failed", error });
  });
  worker.on("exit", () => void die({ kind: "failed", error: new Error("the schema checking thread ended") }));

  /** Only CPU time counts, so a thread that waited for a processor continues. */
  async function look(afterMs: number): Promise<void> {
    const running = settle;
    const { user, system } = await worker.cpuUsage();
    if (settle !== running || !isAlive) return;
    const leftMs = limits.cpuMs - (user + system - cpuUs) / 1_000;
    if (leftMs <= 0) await die({ kind: "overran", isCompiled });
    else timers.push(setTimeout(lookAgain, Math.max(afterMs, leftMs)));
  }

  function lookAgain(): void {
    // A rejection means that the thread ended, which its events report.
    look(10).catch(() => undefined);
  }

  return {
    isAlive: () => isAlive,
    async check(digest, schema, text) {
      const { promise, resolve } = Promise.withResolvers<CheckOutcome>();
      settle = resolve;
      worker.ref();
      await started.promise;
      if (isAlive) {
        const forget = compiled.size >= MAX_COMPILED || heapBytes > (limits.maxHeapMb / 3) * 1_048_576;
        if (forget) compiled.clear();
        isCompiled = compiled.has(digest);
        const request: CheckRequest = { digest, schema: isCompiled ? undefined : schema, text, forget };
        compiled.add(digest);
        worker.postMessage(request);
        const overran = (): void => void die({ kind: "overran", isCompiled });
        timers = [setTimeout(lookAgain, limits.cpuMs), setTimeout(overran, WALL_FACTOR * limits.cpuMs)];
      }
      return promise;
    },
    terminate: () => die({ kind: "failed", error: new Error("the service is closing") }),
  };
}
