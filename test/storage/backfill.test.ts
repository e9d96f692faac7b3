import { pino } from "pino";
import { sql } from "kysely";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Backfill } from "../../src/storage/backfills/backfill.ts";
import { finishBackfills, runBackfillBatch, unfinishedBackfills } from "../../src/storage/backfills/run-backfill.ts";
import { workOnBackfills } from "../../src/storage/backfills/work-on-backfills.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { createJobs, type Jobs } from "../../src/storage/jobs.ts";
import { tablesOf } from "../../src/storage/orm.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const log = pino({ level: "silent" });
const WAIT = { timeout: 20_000, interval: 20 };
const ROWS = 95;

/** Appends one letter to the name of each account, so that a row changed twice shows. */
const markAccounts: Backfill = {
  name: "mark_accounts",
  async runBatch(em, lastKey, limit) {
    const { rows } = await sql<{ id: string }>`
      with batch as (select id from account where id > ${lastKey?.["id"] ?? ""} order by id limit ${limit} for update)
      update account set password_hash = password_hash || 'x' from batch where account.id = batch.id returning account.id
    `.execute(tablesOf(em));
    const last = rows
      .map(({ id }) => id)
      .sort()
      .at(-1);
    return last === undefined ? undefined : { lastKey: { id: last }, rows: rows.length };
  },
};

let testDatabase: TestDatabase;
let databases: Database[];
let queues: Jobs[];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  databases = [];
  queues = [];
  const { pool } = await open();
  await pool.query(
    `insert into account (id, email, password_hash)
     select lpad(n::text, 5, '0'), n::text, '' from generate_series(1, ${ROWS}) as n`,
  );
  await pool.query("insert into backfill (name) values ('mark_accounts')");
});

afterEach(async () => {
  await Promise.all(queues.map((jobs) => jobs.close()));
  await Promise.all(databases.map((database) => database.close()));
  await testDatabase.close();
});

async function open(): Promise<Database> {
  const database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  databases.push(database);
  return database;
}

/** One replica that works on the backfill in batches of 10 rows. */
async function startReplica(backfill: Backfill, turnMs?: number): Promise<void> {
  const { pool, orm } = await open();
  const jobs = createJobs({ pool, log });
  queues.push(jobs);
  await jobs.start();
  await workOnBackfills({ jobs, orm, known: [backfill], batchRows: 10, ...(turnMs !== undefined && { turnMs }) });
}

async function marks(): Promise<readonly string[]> {
  const { rows } =
    (await databases[0]?.pool.query<{ mark: string }>("select password_hash as mark from account")) ?? {};
  return rows?.map(({ mark }) => mark) ?? [];
}

async function progress(): Promise<unknown> {
  const { rows } = (await databases[0]?.pool.query(
    "select rows_changed, finished_at is not null as finished from backfill",
  )) ?? { rows: [] };
  return rows[0];
}

const allOnce = Array.from({ length: ROWS }, () => "x");
const finished = { rows_changed: ROWS, finished: true };

test("several replicas change every row exactly once", async () => {
  await Promise.all([startReplica(markAccounts), startReplica(markAccounts), startReplica(markAccounts)]);
  await vi.waitFor(async () => expect(await progress()).toEqual(finished), WAIT);
  expect(await marks()).toEqual(allOnce);
});

test("a batch that fails is rolled back and repeated, and later batches continue after it", async () => {
  let batches = 0;
  const failing: Backfill = {
    ...markAccounts,
    async runBatch(em, lastKey, limit) {
      const batch = await markAccounts.runBatch(em, lastKey, limit);
      batches += 1;
      if (batches === 3) throw new Error("interrupted");
      return batch;
    },
  };
  await startReplica(failing);
  await vi.waitFor(async () => expect(await progress()).toEqual(finished), WAIT);
  expect(await marks()).toEqual(allOnce);
});

test("continues in another job when its turn is over", async () => {
  await startReplica(markAccounts, 0.001);
  await vi.waitFor(async () => expect(await progress()).toEqual(finished), WAIT);
  expect(await marks()).toEqual(allOnce);
});

test("only one replica runs a batch at a time, and a finished backfill changes nothing", async () => {
  const [database] = databases;
  const { orm } = database ?? (await open());
  const { promise: release, resolve } = Promise.withResolvers<unknown>();
  const started = Promise.withResolvers<unknown>();
  const holding: Backfill = {
    ...markAccounts,
    async runBatch(em, lastKey, limit) {
      started.resolve(undefined);
      await release;
      return await markAccounts.runBatch(em, lastKey, limit);
    },
  };
  const first = runBackfillBatch(orm, holding, ROWS);
  await started.promise;
  expect(await runBackfillBatch(orm, markAccounts, ROWS)).toBe("busy");
  resolve(undefined);
  expect(await first).toBe("more");
  expect(await runBackfillBatch(orm, markAccounts, ROWS)).toBe("finished");
  expect(await runBackfillBatch(orm, markAccounts, ROWS)).toBe("finished");
  expect(await marks()).toEqual(allOnce);
});

test("a migration that depends on backfills finishes them first", async () => {
  const { orm } = await open();
  expect(await unfinishedBackfills(orm, [markAccounts])).toEqual([markAccounts]);
  await finishBackfills(orm, [markAccounts]);
  expect(await progress()).toEqual(finished);
  expect(await marks()).toEqual(allOnce);
});
