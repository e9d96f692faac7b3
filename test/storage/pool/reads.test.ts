import pg from "pg";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { openDatabase, type Database } from "../../../src/storage/database.ts";
import { runStatement } from "../../../src/storage/stores/run-statement.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";

const ECHO = { name: "echo", text: "select $1::integer as number" };
const PID = { name: "pid", text: "select pg_backend_pid() as pid" };

describe("reads", () => {
  let testDatabase: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase({ url: testDatabase.url, poolSize: 2 });
  });

  afterEach(async () => {
    await database.close();
    await testDatabase.close();
  });

  const echo = async (number: number) =>
    (await runStatement<{ number: number }>(database.reads, { ...ECHO, values: [number] })).rows[0]?.number;
  const pids = async () => {
    const all = await Promise.all(
      Array.from({ length: 30 }, () => runStatement<{ pid: number }>(database.reads, { ...PID, values: [] })),
    );
    return new Set(all.map(({ rows }) => rows[0]?.pid));
  };

  test("return the right result for each of a thousand concurrent queries", async () => {
    const numbers = Array.from({ length: 1_000 }, (_, number) => number);
    expect(await Promise.all(numbers.map(echo))).toEqual(numbers);
  });

  test("share a few connections", async () => {
    expect((await pids()).size).toBeLessThanOrEqual(6);
  });

  test("return the other results when one query fails", async () => {
    const failing = runStatement(database.reads, { name: "bad", text: "select 1 / $1::integer", values: [0] });
    const others = Promise.all([1, 2, 3, 4, 5, 6].map(echo));
    await expect(failing).rejects.toThrow("division by zero");
    expect(await others).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("return the columns of each statement, however often it ran before", async () => {
    const wide = { name: "wide", text: "select $1::integer as number, null::text as nothing, now() as moment" };
    const ask = (statement: typeof wide, number: number) =>
      runStatement(database.reads, { ...statement, values: [number] });
    for (let round = 0; round < 20; round += 1) {
      const answers = await Promise.all([ask(ECHO, 1), ask(wide, 2), ask(ECHO, 3), ask(wide, 4)]);
      const moment = expect.any(Date) as Date;
      expect(answers.map(({ rows }) => rows)).toEqual([
        [{ number: 1 }],
        [{ number: 2, nothing: null, moment }],
        [{ number: 3 }],
        [{ number: 4, nothing: null, moment }],
      ]);
    }
  });

  test("use the new columns of a changed table", async () => {
    await database.pool.query("create table shape (first integer, second text); insert into shape values (1, 'two')");
    const statement = { name: "shape", text: "select * from shape", values: [] };
    const ask = () => Promise.allSettled(Array.from({ length: 12 }, () => runStatement(database.reads, statement)));
    for (const answer of await ask()) expect(answer).toMatchObject({ value: { rows: [{ first: 1, second: "two" }] } });
    await database.pool.query("alter table shape drop column first; alter table shape add column third boolean");
    for (const answer of await ask()) expect(answer).toMatchObject({ status: "rejected" });
  });

  test("reconnect after every connection was dropped", async () => {
    const before = await pids();
    const other = new pg.Client({ connectionString: testDatabase.url });
    await other.connect();
    await other.query("select pg_terminate_backend(pid) from unnest($1::integer[]) as pid", [[...before]]);
    await other.end();
    await vi.waitFor(async () => expect(await echo(1)).toBe(1));
    expect([...(await pids())].filter((pid) => before.has(pid))).toEqual([]);
  });

  test("fail with unavailable when the database is unreachable", async () => {
    const away = await openDatabase({ url: "postgres://nobody:x@127.0.0.1:1/none", poolSize: 1 });
    const reading = runStatement(away.reads, { ...ECHO, values: [1] });
    await expect(reading).rejects.toMatchObject({ kind: "unavailable" });
    await away.close();
  });
});
