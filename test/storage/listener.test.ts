import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createListener, type Listener } from "../../src/storage/listener.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const WAIT = { timeout: 10_000, interval: 20 };

let testDatabase: TestDatabase;
let sender: pg.Client;
let listener: Listener;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  sender = new pg.Client({ connectionString: testDatabase.url });
  await sender.connect();
  listener = createListener({ url: testDatabase.url, log: pino({ level: "silent" }) });
});

afterEach(async () => {
  await listener.close();
  await sender.end();
  await testDatabase.close();
});

async function dropListener(): Promise<void> {
  await sender.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'patchbay listener'",
  );
}

const notify = (channel: string, payload: string) => sender.query("select pg_notify($1, $2)", [channel, payload]);

test("a message reaches every listener of its channel and no other", async () => {
  const heard: string[] = [];
  await listener.listen("first", (payload) => heard.push(`a ${payload}`));
  await listener.listen("first", (payload) => heard.push(`b ${payload}`));
  await listener.listen("Second one", (payload) => heard.push(`c ${payload}`));
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  await notify("first", "1");
  await notify("Second one", "2");
  await notify("third", "3");
  await vi.waitFor(() => expect(heard).toEqual(["a 1", "b 1", "c 2"]), WAIT);
});

test("a listener that throws does not affect the others", async () => {
  const heard: string[] = [];
  await listener.listen("first", () => {
    throw new Error("cannot");
  });
  await listener.listen("first", (payload) => heard.push(payload));
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  await notify("first", "1");
  await vi.waitFor(() => expect(heard).toEqual(["1"]), WAIT);
});

test("a dropped connection reconnects, reports it and receives messages again", async () => {
  const heard: string[] = [];
  let connects = 0;
  listener.onReconnect(() => {
    connects += 1;
  });
  await listener.listen("first", (payload) => heard.push(payload));
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  const before = connects;
  await dropListener();
  await vi.waitFor(() => expect(connects).toBe(before + 1), WAIT);
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  await notify("first", "again");
  await vi.waitFor(() => expect(heard).toEqual(["again"]), WAIT);
});

test("a listener is healthy only after every resume callback succeeded, and retries a failed one", async () => {
  let refusals = 2;
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  listener.onReconnect(async () => {
    await Promise.resolve();
    expect(listener.isHealthy()).toBe(false);
    if (refusals > 0) {
      refusals -= 1;
      throw new Error("not yet");
    }
  });
  await dropListener();
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(false), { ...WAIT, interval: 5 });
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  expect(refusals).toBe(0);
});

test("a listener without a database is unhealthy and can be closed", async () => {
  const lost = createListener({ url: "postgres://nobody:x@127.0.0.1:1/none", log: pino({ level: "silent" }) });
  await lost.listen("first", () => expect.unreachable());
  expect(lost.isHealthy()).toBe(false);
  await lost.close();
});
