import { afterEach, beforeEach, expect, test } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createCallPartitions } from "../../src/storage/stores/call-partitions.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const NOW = new Date("2026-07-10T12:00:00Z");

let testDatabase: TestDatabase;
let database: Database;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  await database.pool.query("insert into account (id, email, password_hash) values ('acc', 'a@example.com', '')");
});

afterEach(async () => {
  await database.close();
  await testDatabase.close();
});

async function partitions(): Promise<string[]> {
  const { rows } = await database.pool.query<{ name: string }>(
    "select inhrelid::regclass::text as name from pg_inherits where inhparent = 'call_record'::regclass order by 1",
  );
  return rows.map(({ name }) => name);
}

async function record(...moments: string[]): Promise<void> {
  for (const moment of moments) {
    await database.pool.query(
      `insert into call_record (account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes)
        values ('acc', 1, 'echo', 'c', $1, 1, 'ok', 0, 0)`,
      [moment],
    );
  }
}

/** When each kept call began, and the table that it lies in. */
async function kept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ place: string }>(
    `select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD') || ' ' || tableoid::regclass as place from call_record order by started_at`,
  );
  return rows.map(({ place }) => place);
}

test("the days around now have their partition, from yesterday to three days ahead", async () => {
  await createCallPartitions(database.pool, 30).renew(NOW);
  expect(await partitions()).toEqual([
    ...["09", "10", "11", "12", "13"].map((day) => `call_record_202607${day}`),
    "call_record_rest",
  ]);
});

test("a call that came before its day had a partition is moved there", async () => {
  await record("2026-07-10T08:00:00Z", "2026-07-11T00:00:00Z");
  await createCallPartitions(database.pool, 30).renew(NOW);
  await record("2026-07-10T09:00:00Z");
  expect(await kept()).toEqual([
    "2026-07-10 call_record_20260710",
    "2026-07-10 call_record_20260710",
    "2026-07-11 call_record_20260711",
  ]);
});

test("a day goes once all of it is older than what is kept, wherever its calls lie", async () => {
  const history = createCallPartitions(database.pool, 2);
  await record("2026-07-01T00:00:00Z");
  await history.renew(NOW);
  expect(await kept()).toEqual([]);
  await record("2026-07-09T00:00:00Z", "2026-07-10T23:00:00Z", "2026-07-11T10:00:00Z");
  await history.renew(new Date("2026-07-12T23:00:00Z"));
  expect(await kept()).toEqual(["2026-07-10 call_record_20260710", "2026-07-11 call_record_20260711"]);
  await history.renew(new Date("2026-07-13T00:00:00Z"));
  expect(await kept()).toEqual(["2026-07-11 call_record_20260711"]);
  expect(await partitions()).not.toContain("call_record_20260710");
});

test("replicas that renew at once do it once, and calls are written meanwhile", async () => {
  await Promise.all([
    ...Array.from({ length: 4 }, () => createCallPartitions(database.pool, 30).renew(NOW)),
    record("2026-07-10T08:00:00Z", "2026-07-11T08:00:00Z", "2026-07-12T08:00:00Z"),
  ]);
  await createCallPartitions(database.pool, 30).renew(NOW);
  expect(await partitions()).toHaveLength(6);
  expect(await kept()).toHaveLength(3);
});

test("the calls of an account go with it", async () => {
  await createCallPartitions(database.pool, 30).renew(NOW);
  await record("2026-07-10T08:00:00Z", "2026-01-01T08:00:00Z");
  await database.pool.query("delete from account");
  expect(await kept()).toEqual([]);
});
