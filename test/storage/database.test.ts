import { spawn } from "node:child_process";
import { once } from "node:events";
import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { DomainError } from "../../src/domain-error.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { migrate } from "../../src/storage/migrate.ts";
import { MIGRATION_NAMES } from "../../src/storage/migrations/names.ts";
import { translateDatabaseError } from "../../src/storage/storage-error.ts";
import { transaction } from "../../src/storage/transaction.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

describe("a migrated database", () => {
  let testDatabase: TestDatabase;
  let database: Database;

  beforeEach(async () => {
    testDatabase = await createTestDatabase();
    database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  });

  afterEach(async () => {
    await database.close();
    await testDatabase.close();
  });

  test("has the schema that the entities describe", async () => {
    const { orm } = database;
    const difference = await orm.schema.getUpdateSchemaSQL({ wrap: false });
    expect(difference).toBe("");
  });

  test("runs no migration twice", async () => {
    expect(await migrate(testDatabase.url, pino({ level: "silent" }))).toEqual([]);
  });

  test("returns 64-bit integers as numbers and timestamps as dates", async () => {
    const { rows } = await database.pool.query<{ time: unknown }>(
      "select 7::int8 as big, now() as time, '{\"a\": [1]}'::jsonb as json",
    );
    expect(rows).toMatchObject([{ big: 7, json: { a: [1] } }]);
    expect(rows[0]?.time).toBeInstanceOf(Date);
  });

  test("returns every timestamp to the millisecond, in any time zone and era", async () => {
    const read = async (zone: string, moment: string) => {
      const client = await database.pool.connect();
      await client.query("select set_config('timezone', $1, false)", [zone]);
      const { rows } = await client.query<{ moment: Date | number }>("select $1::timestamptz as moment", [moment]);
      client.release(true);
      return rows[0]?.moment;
    };
    const moment = new Date("2026-02-28T23:59:59.123Z");
    expect(await read("UTC", "2026-02-28 23:59:59.123999+00")).toEqual(moment);
    expect(await read("Asia/Kathmandu", "2026-02-28 23:59:59.123999+00")).toEqual(moment);
    expect(await read("UTC", "2026-02-28 23:59:59+00")).toEqual(new Date("2026-02-28T23:59:59Z"));
    expect(await read("UTC", "0044-03-15 00:00:00+00 BC")).toEqual(new Date("-000043-03-15T00:00:00Z"));
    expect(await read("UTC", "12000-01-01 00:00:00+00")).toEqual(new Date("+012000-01-01T00:00:00Z"));
    expect(await read("UTC", "infinity")).toBe(Infinity);
  });

  test("commits a transaction completely, or rolls it back when it throws", async () => {
    const insert = "insert into account (id, email, password_hash) values ($1, $1, '')";
    await transaction(database.pool, (client) => client.query(insert, ["kept"]));
    const failure = new Error("changed my mind");
    await expect(
      transaction(database.pool, async (client) => {
        await client.query(insert, ["dropped"]);
        throw failure;
      }),
    ).rejects.toBe(failure);
    expect((await database.pool.query("select id from account")).rows).toEqual([{ id: "kept" }]);
  });

  test("does not reuse a broken connection", async () => {
    await expect(
      transaction(database.pool, async (client) => {
        await client.query("select pg_terminate_backend(pg_backend_pid())");
      }),
    ).rejects.toMatchObject({ kind: "unavailable" });
    for (let round = 0; round < 5; round += 1) {
      expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
    }
  });

  test("reconnects after every connection was dropped, idle or in a transaction", async () => {
    await Promise.all([1, 2, 3].map(() => database.pool.query("select pg_sleep(0.02)")));
    const other = new pg.Client({ connectionString: testDatabase.url });
    await other.connect();
    const drop =
      "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()";
    await expect(
      transaction(database.pool, async (client) => {
        await other.query(drop);
        await vi.waitFor(() => expect(database.pool.idleCount).toBe(0));
        await client.query("select 1");
      }),
    ).rejects.toMatchObject({ kind: "unavailable" });
    await other.end();
    expect((await database.pool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  });
});

test("concurrent processes run each migration of an empty database once", async () => {
  const testDatabase = await createTestDatabase({ empty: true });
  const script = new URL("../support/migrate-process.ts", import.meta.url).pathname;
  const exitCodes = await Promise.all(
    [1, 2, 3].map(async () => {
      const child = spawn(process.execPath, [script, testDatabase.url], { stdio: "inherit" });
      await once(child, "exit");
      return child.exitCode;
    }),
  );
  expect(exitCodes).toEqual([0, 0, 0]);
  const client = new pg.Client({ connectionString: testDatabase.url });
  await client.connect();
  const { rows } = await client.query<{ name: string }>("select name from migration order by id");
  await client.end();
  expect(rows.map(({ name }) => name)).toEqual(MIGRATION_NAMES);
  await testDatabase.close();
});

describe("a database error", () => {
  test("of an unreachable server is unavailable, with a retry time", async () => {
    const database = await openDatabase({ url: "postgres://nobody:x@127.0.0.1:1/none", poolSize: 1 });
    await expect(transaction(database.pool, (client) => client.query("select 1"))).rejects.toMatchObject({
      kind: "unavailable",
      retryAfterSeconds: 1,
    });
    await database.close();
  });

  test("of an invalid statement is not translated", () => {
    const error = Object.assign(new Error("syntax error"), { code: "42601" });
    expect(translateDatabaseError(error)).toBe(error);
  });

  test("of the domain is not translated", () => {
    const error = new DomainError("not_found", "MCP server connection not found");
    expect(translateDatabaseError(error)).toBe(error);
  });

  test.each(["57P01", "57P03", "53300", "08006", "ECONNREFUSED", "ECONNRESET"])(
    "%s says unavailable and shows no detail",
    (code) => {
      const translated = translateDatabaseError(Object.assign(new Error("host=db.internal"), { code }));
      expect(translated).toMatchObject({ kind: "unavailable" });
      expect(translated).not.toMatchObject({ message: expect.stringContaining("db.internal") as unknown });
    },
  );
});
