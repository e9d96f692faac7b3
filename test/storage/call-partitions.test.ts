import { afterEach, beforeEach, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createAccountStore } from "../../src/storage/stores/identity/account.ts";
import { createAdministrationStore } from "../../src/storage/stores/identity/administration.ts";
import { createPurgeAccount } from "../../src/storage/stores/identity/purge-account.ts";
import { createCallPartitions } from "../../src/storage/stores/calls/call-partitions.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

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

/** The start and the partition of each stored call. */
async function kept(): Promise<string[]> {
  const { rows } = await database.pool.query<{ place: string }>(
    `select to_char(started_at at time zone 'UTC', 'YYYY-MM-DD') || ' ' || tableoid::regclass as place from call_record order by started_at`,
  );
  return rows.map(({ place }) => place);
}

test("partitions exist from yesterday to three days ahead", async () => {
  await createCallPartitions(database.pool, 30).renew(NOW);
  expect(await partitions()).toEqual([
    ...["09", "10", "11", "12", "13"].map((day) => `call_record_202607${day}`),
    "call_record_rest",
  ]);
});

test("a call that was stored before its day had a partition is moved to it", async () => {
  await record("2026-07-10T08:00:00Z", "2026-07-11T00:00:00Z");
  await createCallPartitions(database.pool, 30).renew(NOW);
  await record("2026-07-10T09:00:00Z");
  expect(await kept()).toEqual([
    "2026-07-10 call_record_20260710",
    "2026-07-10 call_record_20260710",
    "2026-07-11 call_record_20260711",
  ]);
});

async function isAnyoneWaiting(): Promise<boolean> {
  const { rowCount } = await database.pool.query(
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'",
  );
  return rowCount === 1;
}

test("deletes the calls of a day once the whole day is older than the retention, in whichever partition they are", async () => {
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

test("concurrent renewals create partitions once and do not block writes of calls", async () => {
  await Promise.all([
    ...Array.from({ length: 4 }, () => createCallPartitions(database.pool, 30).renew(NOW)),
    record("2026-07-10T08:00:00Z", "2026-07-11T08:00:00Z", "2026-07-12T08:00:00Z"),
  ]);
  await createCallPartitions(database.pool, 30).renew(NOW);
  expect(await partitions()).toHaveLength(6);
  expect(await kept()).toHaveLength(3);
});

test("deleting an account deletes its calls, including those being written", async () => {
  const { orm, pool } = database;
  await pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
      values ('acc', 1, 'bamboohr', 'One', 'read', '{}', 'verified', 'c')`,
  );
  await pool.query("update account set disabled_at = now()");
  await createCallPartitions(pool, 30).renew(NOW);
  await record("2026-07-10T08:00:00Z", "2026-01-01T08:00:00Z");
  const writer = await pool.connect();
  // The locks of an uncommitted write to the history.
  await writer.query("begin");
  await writer.query("select from connection for key share");
  await writer.query(
    `insert into call_record (account_id, connection_id, tool_name, client_id, started_at, duration_ms, outcome, request_bytes, response_bytes)
      select account_id, connection_id, tool_name, client_id, started_at, 1, 'ok', 0, 0 from call_record`,
  );
  const purgeAccount = createPurgeAccount(orm, async () => {});
  const purged = createAdministrationStore(orm, createAccountStore(orm), purgeAccount).purge("acc", OPERATOR);
  await until(isAnyoneWaiting, { what: "the purge waits for the writer" });
  await writer.query("commit");
  writer.release();
  expect(await purged).toBe("purged");
  expect(await kept()).toEqual([]);
});
