import { pino } from "pino";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { VerifyKey } from "../../src/connections/verification/verification.ts";
import {
  type DueVerification,
  VERIFICATION_PRIORITIES,
  type VerificationPriority,
} from "../../src/connections/verification/verification-queue.ts";
import type { ClaimRunner } from "../../src/claim-runner.ts";
import { startVerificationRunner } from "../../src/connections/verification/verification-runner.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import {
  createVerificationQueue,
  enqueueVerification,
  hastenVerification,
} from "../../src/storage/stores/connections/verification-queue.ts";
import { inTransaction } from "../../src/storage/orm.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const { fresh, retry, recheck } = VERIFICATION_PRIORITIES;
const log = pino({ level: "silent" });

let testDatabase: TestDatabase;
let database: Database;
let runners: ClaimRunner[];
let held: PromiseWithResolvers<undefined>;
let started: DueVerification[];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  runners = [];
  started = [];
  held = Promise.withResolvers();
});

afterEach(async () => {
  held.resolve(undefined);
  await Promise.all(runners.map((runner) => runner.close()));
  await database.close();
  await testDatabase.close();
});

/** Creates due connections of an account with ids from `first`. */
async function connect(accountId: string, first: number, count: number, priority: VerificationPriority): Promise<void> {
  const { pool } = database;
  const values = [accountId, first, first + count - 1];
  await pool.query(
    "insert into account (id, email, password_hash) values ($1, $1 || '@example.com', '') on conflict do nothing",
    [accountId],
  );
  await pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
      select $1, id, 'acme', 'Acme', 'read', '{}', 'pending', 'c' || id from generate_series($2::integer, $3::integer) as id`,
    values,
  );
  await pool.query(
    `insert into verification (account_id, connection_id, key_version, priority, due_at)
      select $1, id, 1, $4, now() - interval '1 minute' from generate_series($2::integer, $3::integer) as id`,
    [...values, priority],
  );
}

function startRunner(verify: VerifyKey): ClaimRunner {
  const runner = startVerificationRunner({ queue: createVerificationQueue(database.orm), verify, log });
  runners.push(runner);
  return runner;
}

/** Verifications whose upstream responds when the test says so. */
const hanging: VerifyKey = (due) => {
  started.push(due);
  return held.promise;
};

async function rowOf(connectionId: number): Promise<Record<string, unknown> | undefined> {
  const { rows } = await database.pool.query<Record<string, unknown>>(
    `select key_version, priority, attempt, due_at > now() + interval '21 hours' as is_far,
       due_at between now() and now() + interval '27 hours' as is_to_come from verification where connection_id = $1`,
    [connectionId],
  );
  return rows[0];
}

const connection = { accountId: "a", id: 1, keyVersion: 1 };
const isStarted = (id: number) => () => Promise.resolve(started.some(({ connectionId }) => connectionId === id));

test("starts a new connection's verification while a thousand rechecks wait for hanging upstreams", async () => {
  for (let account = 0; account < 100; account += 1)
    await connect(`rechecks_${account}`, 1 + account * 10, 10, recheck);
  const runner = startRunner(hanging);
  await until(() => Promise.resolve(started.length === 32), { what: "rechecks fill their slots" });
  await connect("new", 5_000, 1, fresh);
  runner.wake();
  await until(isStarted(5_000), { what: "the new connection is verified" });
  expect(started).toHaveLength(33);
});

test("starts another account's first connection while one account has a thousand new ones", async () => {
  await connect("busy", 1, 1_000, fresh);
  await connect("quiet", 5_000, 1, fresh);
  startRunner(hanging);
  await until(isStarted(5_000), { what: "the quiet account's connection is verified" });
  expect(started.filter(({ accountId }) => accountId === "busy")).toHaveLength(8);
});

test("finds due verifications without being woken", async () => {
  startRunner(hanging);
  await connect("a", 1, 1, retry);
  await until(isStarted(1), { what: "the poll finds it" });
});

test("verifies each key on one replica only and schedules the next verification a day later", async () => {
  await connect("a", 1, 300, recheck);
  const ids: number[] = [];
  const verify: VerifyKey = ({ connectionId }) => Promise.resolve(void ids.push(connectionId));
  for (let replica = 0; replica < 3; replica += 1) startRunner(verify);
  const isDone = async () => {
    const { rows } = await database.pool.query("select from verification where due_at < now() + interval '21 hours'");
    return rows.length === 0;
  };
  await until(isDone, { what: "all are verified" });
  expect(ids.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 300 }, (_, index) => index + 1));
  expect(await rowOf(1)).toMatchObject({ priority: recheck, attempt: 0, is_far: true, is_to_come: true });
});

test("takes over the jobs of a dead replica before any recheck", async () => {
  await connect("a", 1, 1, fresh);
  expect(await createVerificationQueue(database.orm).claim(fresh, 1, [])).toHaveLength(1);
  startRunner(hanging);
  await until(isStarted(1), { what: "the claim runs out" });
  expect(await rowOf(1)).toMatchObject({ priority: fresh });
});

test("protects a renewed claim from other replicas and ignores a released one", async () => {
  await connect("a", 1, 2, fresh);
  const queue = createVerificationQueue(database.orm);
  const claimed = await queue.claim(fresh, 2, []);
  const [ended] = claimed;
  if (ended === undefined) throw new Error("nothing was claimed");
  await database.pool.query("update verification set due_at = now()");
  await queue.complete(ended);
  await queue.renew(claimed);
  expect(await queue.claim(fresh, 2, [])).toEqual([]);
  expect(await rowOf(ended.connectionId)).toMatchObject({ is_far: true });
});

test("retries a verification that throws after a pause, and continues with the others", async () => {
  await connect("a", 1, 1, fresh);
  await connect("b", 2, 1, fresh);
  startRunner((due) => {
    started.push(due);
    return due.connectionId === 1 && due.attempt === 0
      ? Promise.reject(new Error("no memory"))
      : Promise.resolve(undefined);
  });
  await until(async () => (await rowOf(1))?.["is_far"] === true, { what: "the second attempt succeeds" });
  expect(started.map(({ connectionId, attempt }) => [connectionId, attempt]).toSorted()).toEqual([
    [1, 0],
    [1, 1],
    [2, 0],
  ]);
});

test("verifies a key that was replaced while the earlier one was being verified", async () => {
  await connect("a", 1, 1, fresh);
  const runner = startRunner(hanging);
  await until(isStarted(1), { what: "the first key is being verified" });
  await inTransaction(database.orm, (em) => enqueueVerification(em, { ...connection, keyVersion: 2 }));
  runner.wake();
  await until(() => Promise.resolve(started.length === 2), { what: "the second key is being verified" });
  held.resolve(undefined);
  await until(async () => (await rowOf(1))?.["is_far"] === true, { what: "the second key is verified" });
  expect(started.map(({ keyVersion }) => keyVersion)).toEqual([1, 2]);
});

test("adds a pending key that a replica of an earlier version stored without a queue entry", async () => {
  await connect("a", 1, 3, recheck);
  await database.pool.query("update connection set key_version = 2 where id <> 3");
  await database.pool.query("update connection set verification_status = 'pending' where id <> 3");
  await database.pool.query("delete from verification where connection_id = 2");
  const queue = createVerificationQueue(database.orm);
  await queue.addMissing();
  await queue.addMissing();
  const claimed = await queue.claim(fresh, 8, []);
  expect(claimed.map(({ connectionId, keyVersion }) => [connectionId, keyVersion]).toSorted()).toEqual([
    [1, 2],
    [2, 2],
  ]);
});

test("verifies a key rejected in a call before rechecks, once for all replicas", async () => {
  await connect("a", 1, 1, recheck);
  const queue = createVerificationQueue(database.orm);
  await queue.complete({ accountId: "a", connectionId: 1, keyVersion: 1, attempt: 0 });
  await hastenVerification(database.orm, connection);
  expect(await queue.claim(retry, 8, [])).toHaveLength(1);
  await hastenVerification(database.orm, connection);
  expect(await queue.claim(retry, 8, [])).toEqual([]);
});

test("returns running verifications to the queue when the service closes", async () => {
  await connect("a", 1, 1, fresh);
  const runner = startRunner((due, signal) => {
    started.push(due);
    return new Promise((_resolve, reject) => {
      signal.addEventListener("abort", () => {
        reject(new Error("closing"));
      });
    });
  });
  await until(isStarted(1), { what: "the key is being verified" });
  await runner.close();
  expect(await createVerificationQueue(database.orm).claim(retry, 8, [])).toEqual([
    { accountId: "a", connectionId: 1, keyVersion: 1, attempt: 0 },
  ]);
});
