import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { CallFilter, CallPosition, StoredCall } from "../../src/runtime/calls/call-record.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { openOrm } from "../../src/storage/orm.ts";
import { createCallRecordReader } from "../../src/storage/stores/calls/call-record-reader.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { explain } from "../support/explain.ts";

const DAY_MS = 86_400_000;
const TODAY = Math.floor(Date.now() / DAY_MS) * DAY_MS;
const DAYS = 25;
const PER_DAY = 4;
const ALL: CallFilter = {
  connectionId: undefined,
  connectionIds: undefined,
  toolName: undefined,
  outcome: undefined,
  from: undefined,
  to: undefined,
};

let testDatabase: TestDatabase;
let database: Database;

const dayAgo = (days: number): Date => new Date(TODAY - days * DAY_MS);
const partitionOf = (days: number): string =>
  `call_record_${dayAgo(days).toISOString().slice(0, 10).replaceAll("-", "")}`;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2 });
  const { pool } = database;
  await pool.query("insert into account (id, email, password_hash) values ('a', 'a@example.com', '')");
  await pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
      select 'a', i, 'mcp', 'Name', 'read', '{}', 'verified', 'c' || i from generate_series(1, 2) as i`,
  );
  for (let days = DAYS - 1; days >= -1; days -= 1) {
    const [from, to] = [dayAgo(days).toISOString(), dayAgo(days - 1).toISOString()];
    await pool.query(
      `create table ${partitionOf(days)} partition of call_record for values from ('${from}') to ('${to}')`,
    );
    if (days < 0) continue;
    // Two calls per instant, so that a page can end between them; the second connection was last called 20 days ago.
    await pool.query(
      `insert into call_record (account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes)
        select 'a', $2, 'tool', 'c', $1::timestamptz + (i / 2) * interval '1 second', 1, 'ok', 0, 0 from generate_series(1, ${PER_DAY}) as i`,
      [from, days === 20 ? 2 : 1],
    );
  }
  await pool.query("analyze");
});

afterAll(async () => {
  await database.close();
  await testDatabase.close();
});

async function page(filter: Partial<CallFilter>, before: CallPosition | undefined, limit: number) {
  let calls: readonly StoredCall[] = [];
  const plans = await explain(database.pool, async (pool) => {
    calls = await createCallRecordReader(openOrm(pool)).page("a", { ...ALL, ...filter }, before, limit);
  });
  const read = plans.flat().flatMap((node) => node["Relation Name"] ?? []);
  return { calls, partitions: new Set(read.filter((name) => /^call_record_\d/.test(name))) };
}

/** Every call that matches the filter, newest first, from one query over all partitions. */
async function expected(where = "true"): Promise<number[]> {
  const text = `select id from call_record where ${where} order by started_at desc, id desc`;
  return (await database.pool.query<{ id: number }>(text)).rows.map(({ id }) => id);
}

describe("a page of calls", () => {
  test("reads only the partitions of the days that it shows", async () => {
    const { calls, partitions } = await page({}, undefined, PER_DAY);
    expect(calls).toHaveLength(PER_DAY);
    // Includes tomorrow, because a replica's clock may be ahead.
    expect([...partitions].toSorted()).toEqual([partitionOf(0), partitionOf(-1)].toSorted());
  });

  test("after a cursor reads neither newer nor much older partitions", async () => {
    const [newest] = (await page({ from: dayAgo(10), to: dayAgo(9) }, undefined, 1)).calls;
    if (newest === undefined) throw new Error("there is no call ten days ago");
    const { partitions } = await page({}, newest, PER_DAY + 1);
    expect([...partitions].toSorted()).toEqual([13, 12, 11, 10].map(partitionOf));
  });

  test("continues across days without repeating or omitting a call, at any page size", async () => {
    const all = await expected();
    for (const limit of [1, 3, 7, 50]) {
      const listed: number[] = [];
      for (let before: CallPosition | undefined; ;) {
        const calls: readonly StoredCall[] = await createCallRecordReader(database.orm).page("a", ALL, before, limit);
        listed.push(...calls.map(({ id }) => id));
        before = calls.at(-1);
        if (calls.length < limit) break;
      }
      expect(listed).toEqual(all);
    }
  });

  test("finds a connection's last calls at any age", async () => {
    const { calls } = await page({ connectionId: 2 }, undefined, 50);
    expect(calls.map(({ id }) => id)).toEqual(await expected("connection_id = 2"));
  });

  test("returns only calls in the requested range", async () => {
    for (const [from, to] of [
      [15, 5],
      [22, 2],
      [1, 0],
      [3, -400],
    ] as const) {
      const range = { from: dayAgo(from), to: dayAgo(to) };
      const { calls } = await page(range, undefined, 200);
      const where = `started_at >= '${range.from.toISOString()}' and started_at < '${range.to.toISOString()}'`;
      expect(calls.map(({ id }) => id)).toEqual(await expected(where));
    }
  });
});
