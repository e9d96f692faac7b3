import { setTimeout as sleep } from "node:timers/promises";
import { LockMode } from "@mikro-orm/core";
import { BackfillEntity } from "../entities/backfill.ts";
import { inTransaction, now, type Orm, withEntities } from "../orm.ts";
import { BACKFILLS } from "./all.ts";
import type { Backfill } from "./backfill.ts";

/** Maximum number of rows per transaction, so that a batch locks few rows and for a short time. */
const BATCH_ROWS = 500;

const BUSY_POLL_MS = 100;

/** `busy`: another replica works on it. */
export type BatchOutcome = "more" | "finished" | "busy";

/** The backfills of this version that have not finished, oldest first. */
export async function unfinishedBackfills(orm: Orm, known: readonly Backfill[] = BACKFILLS): Promise<Backfill[]> {
  const rows = await withEntities(orm, (em) =>
    em.find(BackfillEntity, { finishedAt: null }, { orderBy: { createdAt: "asc", name: "asc" } }),
  );
  return rows.flatMap(({ name }) => known.find((backfill) => backfill.name === name) ?? []);
}

/** Runs one batch. The rows and the progress commit together, so an interrupted batch is repeated and none is skipped. */
export async function runBackfillBatch(orm: Orm, backfill: Backfill, rows = BATCH_ROWS): Promise<BatchOutcome> {
  return await inTransaction(orm, async (em) => {
    const where = { name: backfill.name, finishedAt: null };
    const progress = await em.findOne(BackfillEntity, where, { lockMode: LockMode.PESSIMISTIC_PARTIAL_WRITE });
    if (progress === null) return (await em.count(BackfillEntity, where)) === 0 ? "finished" : "busy";
    const batch = await backfill.runBatch(em, progress.lastKey ?? null, rows);
    await em.nativeUpdate(
      BackfillEntity,
      { name: backfill.name },
      batch === undefined
        ? { finishedAt: now() }
        : { lastKey: batch.lastKey, rowsChanged: progress.rowsChanged + batch.rows },
    );
    return batch === undefined ? "finished" : "more";
  });
}

/** Finishes all backfills before a migration that depends on them. */
export async function finishBackfills(orm: Orm, known: readonly Backfill[] = BACKFILLS): Promise<void> {
  for (const backfill of await unfinishedBackfills(orm, known)) {
    for (let outcome: BatchOutcome = "more"; outcome !== "finished";) {
      outcome = await runBackfillBatch(orm, backfill);
      if (outcome === "busy") await sleep(BUSY_POLL_MS);
    }
  }
}
