import { setTimeout as sleep } from "node:timers/promises";
import type { Jobs } from "../jobs.ts";
import type { Orm } from "../orm.ts";
import { BACKFILLS } from "./all.ts";
import type { Backfill } from "./backfill.ts";
import { runBackfillBatch, unfinishedBackfills } from "./run-backfill.ts";

const BACKFILL_QUEUE = "backfill";

/**
 * How long one job works before it hands over to the next job, on any replica; shorter than the 60 seconds of a job.
 */
const TURN_MS = 30_000;
const MAX_PAUSE_MS = 1_000;

export interface BackfillDeps {
  readonly jobs: Jobs;
  readonly orm: Orm;
  readonly known?: readonly Backfill[];
  readonly batchRows?: number;
  readonly turnMs?: number;
}

/** Works on the backfills that have not finished, one at a time. If the replica dies, another one continues. */
export async function workOnBackfills(deps: BackfillDeps): Promise<void> {
  const { jobs, orm, known = BACKFILLS } = deps;
  const send = ({ name }: Backfill) => jobs.send(BACKFILL_QUEUE, { name }, { singletonKey: name });
  await jobs.work(BACKFILL_QUEUE, { concurrency: 1 }, async ({ name }, signal) => {
    const backfill = known.find((one) => one.name === name);
    // The queue retries the job until a replica of the newer version runs it.
    if (backfill === undefined) throw new Error(`this version does not know the backfill ${JSON.stringify(name)}`);
    if (await takeTurn(deps, backfill, signal)) await send(backfill);
  });
  for (const backfill of await unfinishedBackfills(orm, known)) await send(backfill);
}

/** Runs batches until the backfill has finished or the turn is over. Returns whether something is left to do. */
async function takeTurn({ orm, batchRows, turnMs = TURN_MS }: BackfillDeps, backfill: Backfill, signal: AbortSignal) {
  const endsAt = performance.now() + turnMs;
  while (performance.now() < endsAt) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    const outcome = await runBackfillBatch(orm, backfill, batchRows);
    if (outcome !== "more") return false;
    // Leaves the database idle half of the time, so that requests stay fast.
    await sleep(Math.min(performance.now() - startedAt, MAX_PAUSE_MS), undefined, { signal });
  }
  return true;
}
