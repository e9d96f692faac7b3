import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { TASKS } from "../conformance/modern-tasks.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, type Wire } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import {
  answerTask,
  askTask,
  callTool,
  request,
  startTask,
  taskReaches,
  TASKS_MISSING,
  UNKNOWN_TASK,
} from "../support/task-client.ts";
import { until } from "../support/until.ts";

/** Tasks of an upstream of 2025-11-25, whose session only one replica has, for clients of 2026-07-28. */

let database: TestDatabase;
let upstream: EverythingServer;
let options: Parameters<typeof startService>[0];
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let owner: Owner;
let here: Wire;
let there: Wire;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startEverythingServer("legacy")]);
  options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: upstream.host, PUBLIC_URL: "http://patchbay.example.com:8080" },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  account = await accounts.create();
  const token = await account.token();
  owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  await connect();
  here = createWire(urlOf(0), token);
  there = createWire(urlOf(1), token);
}, 90_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

function urlOf(index: number): string {
  return replicas[index]?.url ?? "";
}

async function connect(): Promise<string> {
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
  await owner.waitFor(id, "verified");
  return id;
}

/** Starts a further replica for tests that stop it. */
async function startReplica(): Promise<{ readonly service: Service; readonly wire: Wire }> {
  const service = await startService(options);
  onTestFinished(() => service.kill());
  return { service, wire: createWire(service.url, await account.token()) };
}

test("every replica returns the task and its result in the form of the extension", async () => {
  const { result } = await callTool(here, "slow_compute", { seconds: 1, label: "one" });
  expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 60_000, pollIntervalMs: 500 });
  for (const old of ["ttl", "pollInterval", "task"]) expect(result).not.toHaveProperty(old);
  const id = String(result?.["taskId"]);
  expect((await askTask(there, "get", id)).result).toMatchObject({
    taskId: id,
    resultType: "complete",
  });
  const done = await taskReaches(there, id, "completed");
  expect(done["result"]).toEqual({ resultType: "complete", content: [{ type: "text", text: "Computed one." }] });
  expect((await askTask(here, "get", id)).result).toMatchObject({ status: "completed", ttlMs: 60_000 });
});

test("a JSON-RPC error makes a task failed, and a tool error makes it completed", async () => {
  const failed = await taskReaches(there, await startTask(here, "protocol_error_job"), "failed");
  expect(failed).toMatchObject({ error: { code: -32603, message: "It crashed." } });
  const completed = await taskReaches(there, await startTask(here, "failing_job"), "completed");
  expect(completed).toMatchObject({ result: { isError: true, resultType: "complete" } });
});

test("a client that does not declare tasks is refused if a tool works only as a task", async () => {
  expect((await callTool(here, "slow_compute", { seconds: 0, label: "sync" }, {})).result).toMatchObject({
    resultType: "complete",
    content: [{ text: "Computed sync." }],
  });
  expect(await callTool(here, "failing_job", {}, {})).toMatchObject({ status: 400, error: TASKS_MISSING });
});

test("clients with sessions get the upstream's own answer, as without tasks", async () => {
  const session = await here.open();
  const sync = { name: "slow_compute", arguments: { seconds: 0, label: "sync" } };
  expect((await here.call("tools/call", sync, { headers: session })).last).toMatchObject({
    result: { content: [{ text: "Computed sync." }] },
  });
  const refused = await here.call("tools/call", { name: "failing_job", arguments: {} }, { headers: session });
  expect(refused.last).toMatchObject({ error: { code: -32601, message: "failing_job is a task." } });
  expect(JSON.stringify(refused.last)).not.toContain(TASKS);
});

test("questions of a running task reach the client on another replica, and each answer reaches the upstream", async () => {
  const id = await startTask(here, "multi_input");
  // The server sends its questions one after the other.
  const asked = await until(async () => {
    const requests = (await askTask(there, "get", id)).result?.["inputRequests"] as
      Record<string, JsonObject> | undefined;
    return Object.keys(requests ?? {}).length === 2 && requests;
  });
  const keyOf = (words: string) =>
    Object.keys(asked).find((key) => JSON.stringify(asked[key]).includes(words)) ?? words;
  const [first, second] = [keyOf("The first name?"), keyOf("The second name?")];
  expect(asked[first]).toMatchObject({ method: "elicitation/create", params: { mode: "form" } });

  await answerTask(there, id, { [first]: { action: "accept", content: { name: "Ada" } }, other: {} });
  const left = (await askTask(here, "get", id)).result;
  expect(left).toMatchObject({ status: "input_required" });
  expect(Object.keys(left?.["inputRequests"] as JsonObject)).toEqual([second]);
  await answerTask(here, id, { [second]: { action: "accept", content: { name: "Grace" } } });
  const text = JSON.stringify(await taskReaches(there, id, "completed"));
  for (const name of ["Ada", "Grace"]) expect(text).toContain(name);
});

test("a call whose client must answer before its task exists returns the task after the last answer", async () => {
  const first = await callTool(here, "test_tool_with_task");
  expect(first.result).toMatchObject({ resultType: "input_required" });
  const [key = ""] = Object.keys(first.result?.["inputRequests"] as JsonObject);
  const { result } = await request(there, "tools/call", {
    name: "test_tool_with_task",
    arguments: {},
    inputResponses: { [key]: { action: "accept", content: { name: "Alice" } } },
    requestState: first.result?.["requestState"] ?? "",
  });
  expect(result).toMatchObject({ resultType: "task" });
  expect(JSON.stringify(await taskReaches(there, String(result?.["taskId"]), "completed"))).toContain("Alice");
});

test("cancels a task at its upstream from another replica", async () => {
  const before = upstream.sessionTasks.canceled.length;
  const id = await startTask(here, "slow_compute", { seconds: 60 });
  expect((await askTask(there, "cancel", id)).result).toMatchObject({ resultType: "complete" });
  await taskReaches(there, id, "cancelled");
  expect(upstream.sessionTasks.canceled).toHaveLength(before + 1);
  expect((await askTask(here, "cancel", id)).result).toMatchObject({ resultType: "complete" });
});

test("another account cannot get, answer or cancel a task that waits for answers", async () => {
  const id = await startTask(here, "confirm_delete", { filename: "mine" });
  await taskReaches(there, id, "input_required");
  const foreign = createWire(urlOf(0), await (await accounts.create()).token());
  expect((await askTask(foreign, "get", id)).error).toMatchObject(UNKNOWN_TASK);
  expect((await askTask(foreign, "cancel", id)).error).toMatchObject(UNKNOWN_TASK);
  expect((await answerTask(foreign, id, {})).error).toMatchObject(UNKNOWN_TASK);
  expect((await askTask(here, "get", id)).result).toMatchObject({ status: "input_required" });
});

test("a task ends with its connection", async () => {
  const connectionId = await connect();
  const id = await startTask(here, `slow_compute__${connectionId}`, { seconds: 60 });
  await owner.call("DeleteConnection", { server_id: connectionId });
  for (const wire of [here, there]) {
    await until(async () => (await askTask(wire, "get", id)).error !== undefined);
    expect((await askTask(wire, "get", id)).error).toMatchObject(UNKNOWN_TASK);
  }
});

test("a task fails when the replica that follows it stops", async () => {
  const { service, wire } = await startReplica();
  const id = await startTask(wire, "slow_compute", { seconds: 60 });
  expect((await askTask(there, "get", id)).result).toMatchObject({ status: "working" });
  await service.stop();
  const failed = await taskReaches(there, id, "failed");
  expect(failed).toMatchObject({ error: { code: -32603, message: /The service is stopping/ } });
});

test("a task fails when the replica that follows it has died", async () => {
  const { service, wire } = await startReplica();
  const id = await startTask(wire, "confirm_delete", { filename: "lost" });
  await taskReaches(there, id, "input_required");
  await service.kill();
  expect((await answerTask(there, id, {})).error).toMatchObject({
    message: "The server that followed the task has stopped.",
  });
  // A replica records every 20 seconds that it follows a task; a minute later the task counts as abandoned.
  await accounts.query("update mcp_task set attended_until = now() - interval '1 second' where id = $1", [id]);
  const failed = await taskReaches(there, id, "failed");
  expect(failed).toMatchObject({ error: { message: "The server that followed the task has stopped." } });
  expect(failed).not.toHaveProperty("inputRequests");
});
