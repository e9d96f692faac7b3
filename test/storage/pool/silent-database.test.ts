import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../../../src/storage/database.ts";
import { transaction } from "../../../src/storage/transaction.ts";
import { runStatement } from "../../../src/storage/stores/run-statement.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { startStallingProxy, type StallingProxy } from "../../support/stalling-proxy.ts";
import { until } from "../../support/until.ts";

const PID = { name: "pid", text: "select pg_backend_pid() as pid", values: [] };
const BOUNDS = { connectMs: 2_000, readMs: 500, statementMs: 1_000, maintenanceMs: 20_000, probeMs: 300 };

let testDatabase: TestDatabase;
let proxy: StallingProxy;
let database: Database;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  proxy = await startStallingProxy(testDatabase.url);
  database = await openDatabase({ url: proxy.url, poolSize: 4, bounds: BOUNDS });
});

afterEach(async () => {
  await database.close();
  await proxy.close();
  await testDatabase.close();
});

type Runner = Parameters<typeof runStatement>[0];

async function pidsOf(runner: Runner, count: number): Promise<ReadonlySet<number | undefined>> {
  const answers = await Promise.all(Array.from({ length: count }, () => runStatement<{ pid: number }>(runner, PID)));
  return new Set(answers.map(({ rows }) => rows[0]?.pid));
}

describe("when open database connections hang and new ones work", () => {
  test("one statement of the pool fails with unavailable, and all others get new connections", async () => {
    const before = await pidsOf(database.pool, 8);
    expect(before.size).toBeGreaterThan(1);
    proxy.stall();
    await expect(runStatement(database.pool, PID)).rejects.toMatchObject({ kind: "unavailable" });
    const after = await pidsOf(database.pool, 8);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
  });

  test("one read fails with unavailable, and all others get new connections", async () => {
    const before = await pidsOf(database.reads, 30);
    expect(before.size).toBeGreaterThan(1);
    proxy.stall();
    await expect(runStatement(database.reads, PID)).rejects.toMatchObject({ kind: "unavailable" });
    const after = await pidsOf(database.reads, 30);
    expect([...after].filter((pid) => before.has(pid))).toEqual([]);
  });

  test("a read without a response makes the pool open new connections too", async () => {
    await Promise.all([pidsOf(database.pool, 8), pidsOf(database.reads, 8)]);
    proxy.stall();
    await expect(runStatement(database.reads, PID)).rejects.toMatchObject({ kind: "unavailable" });
    expect((await pidsOf(database.pool, 8)).size).toBeGreaterThan(0);
  });

  test("a transaction whose COMMIT gets no response fails with unavailable, and the server releases its locks", async () => {
    await database.pool.query("create table counter (number integer); insert into counter values (0)");
    const counting = transaction(database.pool, async (client) => {
      await client.query("update counter set number = number + 1");
      proxy.stall();
    });
    await expect(counting).rejects.toMatchObject({ kind: "unavailable" });
    await until(async () => (await database.pool.query("update counter set number = 10")).rowCount === 1);
  });

  test("the database is reported as not responsive, then as responsive on new connections", async () => {
    await Promise.all([pidsOf(database.pool, 4), pidsOf(database.reads, 12)]);
    expect(await database.isResponsive()).toBe(true);
    proxy.stall();
    await until(async () => !(await database.isResponsive()), { what: "it says that the database does not answer" });
    await until(() => database.isResponsive(), { what: "it answers again" });
    await Promise.all([pidsOf(database.pool, 4), pidsOf(database.reads, 12)]);
  });

  test("the database can be closed", async () => {
    const other = await openDatabase({ url: proxy.url, poolSize: 2, bounds: BOUNDS });
    await Promise.all([pidsOf(other.pool, 2), pidsOf(other.reads, 6)]);
    proxy.stall();
    await other.close();
  });
});

describe("a statement that takes longer than a request may", () => {
  const SLEEP = { name: "sleep", text: "select pg_sleep(1.5)", values: [] };

  test("is canceled by the server with unavailable, and idle connections stay open", async () => {
    const before = await pidsOf(database.pool, 8);
    const giveUp = { kind: "unavailable", cause: { code: "57014" } };
    await expect(runStatement(database.pool, SLEEP)).rejects.toMatchObject(giveUp);
    const after = await pidsOf(database.pool, 8);
    expect([...after].some((pid) => before.has(pid))).toBe(true);
  });

  test("completes on maintenance connections", async () => {
    expect((await runStatement(database.maintenance, SLEEP)).rowCount).toBe(1);
  });

  test("completes on a pool with a longer limit", async () => {
    const pool = database.openPool({ poolSize: 1, statementMs: 20_000 });
    expect((await runStatement(pool, SLEEP)).rowCount).toBe(1);
    await pool.end();
  });
});
