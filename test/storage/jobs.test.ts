import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { createJobs, type Jobs } from "../../src/storage/jobs.ts";
import { createListener, type Listener } from "../../src/storage/listener.ts";
import { transaction } from "../../src/storage/transaction.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const WAIT = { timeout: 20_000, interval: 20 };
const log = pino({ level: "silent" });

let testDatabase: TestDatabase;
let database: Database;
let listener: Listener;
let jobs: Jobs;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  listener = createListener({ url: testDatabase.url, log });
  jobs = createJobs({ pool: database.pool, log, listener });
});

afterEach(async () => {
  await jobs.close();
  await listener.close();
  await database.close();
  await testDatabase.close();
});

test("a job runs once with its payload", async () => {
  const ran: unknown[] = [];
  await jobs.start();
  await jobs.work("verify", {}, async (payload) => void ran.push(await Promise.resolve(payload)));
  await jobs.send("verify", { connectionId: 7 });
  await jobs.send("verify", { connectionId: 8 });
  await vi.waitFor(() => expect(ran).toHaveLength(2), WAIT);
  expect(ran).toEqual(expect.arrayContaining([{ connectionId: 7 }, { connectionId: 8 }]));
});

test("a job sent in a transaction runs only if it commits", async () => {
  const ran: unknown[] = [];
  await jobs.start();
  await jobs.work("verify", {}, async (payload) => void ran.push(await Promise.resolve(payload)));
  await expect(
    transaction(database.pool, async (client) => {
      await jobs.send("verify", { connectionId: 1 }, {}, client);
      throw new Error("changed my mind");
    }),
  ).rejects.toThrow();
  await transaction(database.pool, async (client) => {
    await jobs.send("verify", { connectionId: 2 }, {}, client);
    await jobs.send("verify", { connectionId: 3 }, {}, client);
    expect(ran).toEqual([]);
  });
  await vi.waitFor(() => expect(ran).toHaveLength(2), WAIT);
  expect(ran).toEqual(expect.arrayContaining([{ connectionId: 2 }, { connectionId: 3 }]));
});

test("only one job per key waits", async () => {
  const ran: unknown[] = [];
  await jobs.start();
  await jobs.work("verify", {}, async (payload) => void ran.push(await Promise.resolve(payload)));
  await transaction(database.pool, async (client) => {
    await jobs.send("verify", { n: 1 }, { singletonKey: "same" }, client);
    await jobs.send("verify", { n: 2 }, { singletonKey: "same" }, client);
    await jobs.send("verify", { n: 3 }, { singletonKey: "other" }, client);
  });
  await vi.waitFor(() => expect(ran).toHaveLength(2), WAIT);
  expect(ran).toEqual(expect.arrayContaining([{ n: 1 }, { n: 3 }]));
});

test("a job whose handler throws is retried, and its error is not stored", async () => {
  let attempts = 0;
  await jobs.start();
  await jobs.work("verify", {}, async () => {
    await Promise.resolve();
    attempts += 1;
    if (attempts < 3) throw new Error("the key is hunter2");
  });
  await jobs.send("verify", {});
  await vi.waitFor(async () => {
    const { rows } = await database.pool.query("select * from pgboss.job where name = 'verify'");
    expect(JSON.stringify(rows)).not.toContain("hunter2");
    expect(rows).toEqual([expect.objectContaining({ state: "completed" })]);
  }, WAIT);
  expect(attempts).toBe(3);
});

test("a job runs without a listener too", async () => {
  const polling = createJobs({ pool: database.pool, log });
  const ran: unknown[] = [];
  await polling.start();
  await polling.work("verify", {}, async (payload) => void ran.push(await Promise.resolve(payload)));
  await polling.send("verify", { n: 1 });
  await vi.waitFor(() => expect(ran).toEqual([{ n: 1 }]), WAIT);
  await polling.close();
});

test("replicas start concurrently on a database without queues", async () => {
  const replicas = [1, 2, 3].map(() => createJobs({ pool: database.pool, log }));
  await Promise.all(replicas.map((replica) => replica.start()));
  await Promise.all(replicas.map((replica) => replica.work("verify", {}, () => Promise.resolve())));
  await Promise.all(replicas.map((replica) => replica.close()));
});

test("another replica soon runs the job of a killed process", async () => {
  const script = new URL("../support/job-process.ts", import.meta.url).pathname;
  const other = spawn(process.execPath, [script, testDatabase.url], { stdio: ["ignore", "pipe", "inherit"] });
  const lines = createInterface({ input: other.stdout })[Symbol.asyncIterator]();
  expect(await lines.next()).toMatchObject({ value: "ready" });
  await jobs.start();
  await jobs.send("slow", { n: 1 });
  expect(await lines.next()).toMatchObject({ value: "taken" });
  other.kill("SIGKILL");
  await once(other, "exit");

  const ran: unknown[] = [];
  await jobs.work("slow", {}, async (payload) => void ran.push(await Promise.resolve(payload)));
  await vi.waitFor(() => expect(ran).toEqual([{ n: 1 }]), WAIT);
});
