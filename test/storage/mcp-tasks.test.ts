import { afterEach, beforeEach, expect, test } from "vitest";
import type { NewTask, TaskStore } from "../../src/runtime/tasks/task-store.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createPurge } from "../../src/storage/stores/connections/purge.ts";
import { createTaskStore } from "../../src/storage/stores/sessions/mcp-task.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

let testDatabase: TestDatabase;
let database: Database;
let store: TaskStore;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  store = createTaskStore(database.orm, createSealer([{ version: 1, key: Buffer.alloc(32, 7) }]));
  await database.pool.query(
    "insert into account (id, email, password_hash) values ('a', 'a@example.com', 'x'), ('b', 'b@example.com', 'x')",
  );
  await database.pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id, sealed_secrets)
     values ('a', 1, 'mcp', 'a connection', 'write', '{}', 'verified', 'none', '\\x00')`,
  );
});

afterEach(async () => {
  await database.close();
  await testDatabase.close();
});

const owner = { accountId: "a", clientId: "c", memberId: undefined, grantId: undefined };
const task = (id: string, ttlMs = 60_000): NewTask => ({
  owner,
  id,
  connectionId: 1,
  toolName: "x",
  upstreamId: "secret-id",
  address: undefined,
  json: '{"secret":"result"}',
  ttlMs,
  hasEnded: false,
});

test("finds a task for its account, member, client and grant only", async () => {
  expect(await store.add(task("one"), 10)).toBe("added");
  expect(await store.find(owner, "one")).toMatchObject({
    upstreamId: "secret-id",
    connectionId: 1,
    isAbandoned: false,
  });
  for (const other of [{ accountId: "b" }, { memberId: "m" }, { clientId: "d" }, { grantId: "g" }])
    expect(await store.find({ ...owner, ...other }, "one")).toBeUndefined();
  const { rows } = await database.pool.query<{ sealed_state: Buffer }>("select sealed_state from mcp_task");
  expect(rows[0]?.sealed_state.toString("latin1")).not.toContain("secret");
});

test("counts the tasks of an account exactly when calls run at the same time", async () => {
  const outcomes = await Promise.all(Array.from({ length: 8 }, (_, index) => store.add(task(`t${index}`), 5)));
  expect(outcomes.filter((outcome) => outcome === "added")).toHaveLength(5);
  expect(outcomes.filter((outcome) => outcome === "full")).toHaveLength(3);
});

test("keeps a task for its time to live, which the upstream may change", async () => {
  await store.add(task("over", 0), 10);
  await store.add(task("left"), 10);
  expect(await store.find(owner, "over")).toBeUndefined();
  const left = await store.find(owner, "left");
  if (left === undefined) throw new Error("the task is missing");
  await createPurge(database.pool).expired();
  expect((await database.pool.query("select from mcp_task")).rowCount).toBe(1);
  expect(await store.update("a", "left", { ...left, ttlMs: 0 })).toBe(true);
  expect(await store.find(owner, "left")).toBeUndefined();
});

test("never changes a task that has ended", async () => {
  await store.add({ ...task("one"), address: "here" }, 10);
  const working = { ...task("one"), address: "here", json: '{"status":"working"}' };
  expect(await store.update("a", "one", working)).toBe(true);
  expect(await store.update("a", "one", { ...working, json: '{"status":"failed"}', hasEnded: true })).toBe(true);
  expect(await store.update("a", "one", working)).toBe(false);
  expect(await store.update("a", "one", { ...working, json: '{"status":"completed"}', hasEnded: true })).toBe(false);
  expect(await store.attend("a", "one")).toBe(false);
  expect(await store.find(owner, "one")).toMatchObject({ json: '{"status":"failed"}', hasEnded: true });
});

test("deletes the tasks of a connection with it and accepts none afterwards", async () => {
  await store.add({ ...task("one"), address: "here" }, 10);
  expect(await store.attend("a", "one")).toBe(true);
  await database.pool.query("delete from connection");
  expect(await store.attend("a", "one")).toBe(false);
  expect(await store.update("a", "one", task("one"))).toBe(false);
  expect(await store.add(task("two"), 10)).toBe("deleted");
});
