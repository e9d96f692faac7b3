import type { JsonObject } from "../../json.ts";
import { SchemaCheckRefused } from "./check-refused.ts";
import { startCheckThread, type CheckLimits, type CheckOutcome, type CheckThread } from "./check-thread.ts";
import { createOverruns } from "./overruns.ts";
import { createTenantQueue } from "./tenant-queue.ts";

/** A check without a known upper bound for its cost. */
export interface ExpensiveCheck {
  readonly tenant: string;
  readonly digest: string;
  readonly schema: JsonObject;
  /** The value as JSON. */
  readonly text: string;
  /** The size of the value, in any unit. */
  readonly valueSize: number;
}

/** Runs expensive checks in worker threads. */
export interface CheckPool {
  /** Returns what is wrong with the value, or undefined. Rejects with SchemaCheckRefused. */
  check(check: ExpensiveCheck): Promise<string | undefined>;
  close(): Promise<void>;
}

/** Limits for all checks together. */
export interface PoolLimits extends CheckLimits {
  readonly threads: number;
  /** Maximum number of thread starts per minute. */
  readonly startsPerMinute: number;
}

const LIMITS: PoolLimits = { cpuMs: 250, maxHeapMb: 256, threads: 2, startsPerMinute: 60 };
const MAX_WAITING = { perTenant: 16, total: 1_000 };
/** How long a check waits for its turn, in milliseconds. */
const MAX_WAIT_MS = 5_000;

interface Job extends ExpensiveCheck {
  readonly since: number;
  settle(outcome: CheckOutcome): void;
}

/**
 * Creates a pool that runs one check per tenant at a time, with tenants taking turns. A check that takes too long
 * terminates its thread. The number of thread starts is limited; beyond the limit checks are refused and never run on
 * the main thread.
 */
export function createCheckPool(changes: Partial<PoolLimits> = {}): CheckPool {
  const limits = { ...LIMITS, ...changes };
  const queue = createTenantQueue<Job>(MAX_WAITING);
  const overruns = createOverruns();
  const idle: CheckThread[] = [];
  const busy = new Set<CheckThread>();
  let starts: number[] = [];

  function freeThread(): CheckThread | undefined {
    for (let thread = idle.pop(); thread !== undefined; thread = idle.pop()) if (thread.isAlive()) return thread;
    if (busy.size >= limits.threads) return undefined;
    starts = starts.filter((at) => at > Date.now() - 60_000);
    if (starts.length >= limits.startsPerMinute) return undefined;
    starts.push(Date.now());
    return startCheckThread(limits);
  }

  function work(): void {
    while (queue.isReady()) {
      const thread = freeThread();
      if (thread === undefined) break;
      const next = queue.take();
      if (next === undefined) return void idle.push(thread);
      void run(thread, next.item);
    }
    // Without a thread, and with no further starts allowed, queued checks would wait forever.
    if (busy.size === 0) for (const job of queue.clear()) job.settle({ kind: "failed", error: tooManyWait() });
  }

  async function run(thread: CheckThread, job: Job): Promise<void> {
    busy.add(thread);
    const isStale = Date.now() - job.since > MAX_WAIT_MS;
    const outcome = isStale
      ? { kind: "failed" as const, error: tooManyWait() }
      : await thread.check(job.digest, job.schema, job.text);
    busy.delete(thread);
    if (thread.isAlive()) idle.push(thread);
    queue.finish(job.tenant);
    job.settle(outcome);
    work();
  }

  return {
    async check(check) {
      const { tenant, digest, valueSize } = check;
      if (overruns.has(tenant, digest, valueSize)) throw tooExpensive();
      if (overruns.isExcessive(tenant)) throw tooManyOverruns();
      const { promise, resolve } = Promise.withResolvers<CheckOutcome>();
      if (!queue.add(tenant, { ...check, since: Date.now(), settle: resolve })) throw tooManyWait();
      work();
      const outcome = await promise;
      if (outcome.kind === "checked") return outcome.problem;
      if (outcome.kind === "failed") throw outcome.error;
      overruns.record(tenant, digest, outcome.isCompiled ? valueSize : 0);
      throw tooExpensive();
    },
    async close() {
      for (const job of queue.clear()) job.settle({ kind: "failed", error: tooManyWait() });
      await Promise.all([...idle, ...busy].map((thread) => thread.terminate()));
    },
  };
}

function tooExpensive(): SchemaCheckRefused {
  return new SchemaCheckRefused("too_expensive", "The tool's schema is too expensive to check.");
}

function tooManyWait(): SchemaCheckRefused {
  return new SchemaCheckRefused("busy", "Too many expensive schema checks are waiting. Try again in a few seconds.");
}

function tooManyOverruns(): SchemaCheckRefused {
  return new SchemaCheckRefused(
    "busy",
    "Too many checks of this account took too long. Its expensive schemas are checked again in a minute.",
  );
}
