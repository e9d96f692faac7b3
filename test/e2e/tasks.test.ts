import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { createModernTasks, TASKS } from "../conformance/modern-tasks.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders, modernMeta, type Wire } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import {
  answerTask,
  askTask,
  callTool,
  request,
  startTask,
  TASK_CAPABILITIES,
  taskReaches,
  TASKS_MISSING,
  UNKNOWN_TASK,
} from "../support/task-client.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let upstream: EverythingServer;
let brief: EverythingServer;
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let owner: Owner;
let here: Wire;
let there: Wire;

beforeAll(async () => {
  [database, upstream, brief] = await Promise.all([
    createTestDatabase(),
    startEverythingServer("modern", createModernTasks(null)),
    startEverythingServer("modern", createModernTasks(2_000)),
  ]);
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: `${upstream.host},${brief.host}`, PUBLIC_URL: "http://patchbay.example.com:8080" },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  account = await accounts.create();
  const token = await account.token();
  owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  await connect(upstream.url);
  here = createWire(urlOf(0), token);
  there = createWire(urlOf(1), token);
}, 90_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await upstream?.close();
  await brief?.close();
  await database?.close();
});

function urlOf(index: number): string {
  return replicas[index]?.url ?? "";
}

async function connect(url: string): Promise<string> {
  const id = await owner.create({ server_type: "mcp", configuration: { url } });
  await owner.waitFor(id, "verified");
  return id;
}

test("any replica returns a task under the service's own id, with the upstream's result when it is completed", async () => {
  const { result } = await callTool(here, "slow_compute", { seconds: 1, label: "one" });
  // The upstream keeps tasks without an end; the service keeps them for a day.
  expect(result).toMatchObject({ resultType: "task", status: "working", ttlMs: 86_400_000, pollIntervalMs: 500 });
  const id = String(result?.["taskId"]);
  expect([...upstream.modernTasks.tasks.keys()]).not.toContain(id);
  expect((await askTask(there, "get", id)).result).toMatchObject({
    taskId: id,
    resultType: "complete",
  });
  const done = await taskReaches(there, id, "completed");
  expect(done).toMatchObject({ taskId: id, ttlMs: 86_400_000 });
  expect(done["result"]).toEqual({ resultType: "complete", content: [{ type: "text", text: "Computed one." }] });
});

test("a failed task carries the upstream's error", async () => {
  const done = await taskReaches(there, await startTask(here, "protocol_error_job"), "failed");
  expect(done).toMatchObject({ error: { code: -32603, message: "It crashed." } });
  expect(done).not.toHaveProperty("result");
});

test("the result of a completed task stays available when its upstream has forgotten it", async () => {
  const id = await startTask(here, "slow_compute", { seconds: 0, label: "kept" });
  await taskReaches(there, id, "completed");
  (upstream.modernTasks.tasks as Map<string, unknown>).clear();
  expect((await askTask(here, "get", id)).result).toMatchObject({ status: "completed", result: { content: [{}] } });
});

test("a client that does not declare tasks gets no task and cannot use the methods", async () => {
  const id = await startTask(here, "slow_compute", { seconds: 60 });
  expect((await callTool(here, "slow_compute", { seconds: 0, label: "sync" }, {})).result).toMatchObject({
    resultType: "complete",
    content: [{ text: "Computed sync." }],
  });
  expect(await callTool(here, "failing_job", {}, {})).toMatchObject({ status: 400, error: TASKS_MISSING });
  for (const method of ["get", "cancel"] as const)
    expect(await askTask(there, method, id, {})).toMatchObject({ status: 400, error: TASKS_MISSING });
  const update = await request(there, "tasks/update", { taskId: id, inputResponses: {} }, { extensions: {} });
  expect(update).toMatchObject({ status: 400, error: TASKS_MISSING });
  expect((await askTask(there, "get", id)).result).toMatchObject({ status: "working" });
});

test("clients with sessions neither see the extension nor receive tasks", async () => {
  const clientInfo = { name: "wire", version: "1" };
  const params = { protocolVersion: "2025-11-25", capabilities: TASK_CAPABILITIES, clientInfo };
  const { last, headers } = await here.call("initialize", params);
  expect(JSON.stringify(last)).not.toContain(TASKS);
  const session = { "mcp-session-id": String(headers["mcp-session-id"]), "mcp-protocol-version": "2025-11-25" };
  const sync = { name: "slow_compute", arguments: { seconds: 0, label: "sync" } };
  expect((await here.call("tools/call", sync, { headers: session })).last).toMatchObject({
    result: { content: [{ text: "Computed sync." }] },
  });
  const refused = await here.call("tools/call", { name: "failing_job", arguments: {} }, { headers: session });
  expect(refused.last).toMatchObject({ result: { isError: true } });
  expect(JSON.stringify(refused.last)).toContain(TASKS);
  const get = await here.call("tasks/get", { taskId: "x" }, { headers: session });
  expect(get.last).toMatchObject({ error: { code: -32601 } });
});

test("a task is unknown to other accounts and other clients, which cannot change it", async () => {
  const id = await startTask(here, "confirm_delete", { filename: "mine" });
  await taskReaches(there, id, "input_required");
  const foreign = createWire(urlOf(1), await (await accounts.create()).token());
  const sibling = createWire(urlOf(1), await account.token("mcp.read mcp.write"));
  for (const wire of [foreign, sibling]) {
    expect((await askTask(wire, "get", id)).error).toMatchObject(UNKNOWN_TASK);
    expect((await askTask(wire, "cancel", id)).error).toMatchObject(UNKNOWN_TASK);
    expect((await answerTask(wire, id, { confirm: { action: "accept" } })).error).toMatchObject(UNKNOWN_TASK);
  }
  expect((await askTask(here, "get", id)).result).toMatchObject({ status: "input_required" });
});

test("a changed or malformed id is unknown, and an id that the header does not repeat is rejected", async () => {
  const id = await startTask(here, "slow_compute", { seconds: 60 });
  const changed = `${id.startsWith("A") ? "B" : "A"}${id.slice(1)}`;
  const [own = ""] = [...upstream.modernTasks.tasks.keys()].slice(-1);
  for (const wrong of [changed, `${id}A`, own, "", "x\u0000", "é".repeat(22)])
    expect((await askTask(there, "get", wrong)).error).toMatchObject({ code: -32602 });
  const _meta = modernMeta({ "io.modelcontextprotocol/clientCapabilities": TASK_CAPABILITIES });
  for (const name of [changed, undefined]) {
    const { status, last } = await there.call(
      "tasks/get",
      { taskId: id, _meta },
      { headers: modernHeaders("tasks/get", name) },
    );
    expect({ status, last }).toMatchObject({ status: 400, last: { error: { code: -32020 } } });
  }
  const malformed = await request(there, "tasks/update", { taskId: id, inputResponses: [] });
  expect(malformed.error).toMatchObject({ code: -32602, message: /inputResponses must be an object/ });
});

test("cancels a task at its upstream, from any replica and as often as the client likes", async () => {
  const before = upstream.modernTasks.canceled.length;
  const id = await startTask(here, "slow_compute", { seconds: 60 });
  expect((await askTask(there, "cancel", id)).result).toMatchObject({ resultType: "complete" });
  await taskReaches(there, id, "cancelled");
  expect((await askTask(here, "cancel", id)).result).toMatchObject({ resultType: "complete" });
  expect(upstream.modernTasks.canceled).toHaveLength(before + 1);
});

test("passes on the requests of a task and the client's answers, one by one", async () => {
  const id = await startTask(here, "multi_input");
  const asked = await taskReaches(there, id, "input_required");
  expect(Object.keys(asked["inputRequests"] as JsonObject)).toEqual(["first", "second"]);
  await answerTask(there, id, { first: { action: "accept", content: { name: "Ada" } }, other: { ignored: true } });
  const left = (await askTask(here, "get", id)).result;
  expect(Object.keys(left?.["inputRequests"] as JsonObject)).toEqual(["second"]);
  await answerTask(here, id, { second: { action: "accept", content: { name: "Grace" } } });
  const text = JSON.stringify(await taskReaches(there, id, "completed"));
  for (const name of ["Ada", "Grace"]) expect(text).toContain(name);
});

test("a call whose client must answer before its task exists returns the task after the last answer", async () => {
  const first = await callTool(here, "test_tool_with_task");
  expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { user_name: {} } });
  const { result } = await request(there, "tools/call", {
    name: "test_tool_with_task",
    arguments: {},
    inputResponses: { user_name: { action: "accept", content: { name: "Alice" } } },
    requestState: first.result?.["requestState"] ?? "",
  });
  expect(result).toMatchObject({ resultType: "task" });
  expect(result).not.toHaveProperty("requestState");
  expect(JSON.stringify(await taskReaches(there, String(result?.["taskId"]), "completed"))).toContain("Alice");
});

test("sends the states of a task to a subscriber on another replica", async () => {
  const id = await startTask(here, "confirm_delete", { filename: "followed" });
  const listen = (capabilities: JsonObject) => ({
    method: "POST",
    headers: modernHeaders("subscriptions/listen"),
    body: {
      jsonrpc: "2.0",
      id: "sub",
      method: "subscriptions/listen",
      params: {
        notifications: { taskIds: [id, "unknown"] },
        _meta: modernMeta({ "io.modelcontextprotocol/clientCapabilities": capabilities }),
      },
    },
  });
  const refused = await there.send(listen({}));
  expect(refused).toMatchObject({ status: 400, last: { error: TASKS_MISSING } });

  const stream = await there.stream(listen(TASK_CAPABILITIES));
  onTestFinished(() => stream.close());
  const told = (status: string) =>
    until(
      async () =>
        stream.messages.some(
          ({ method, params }) => method === "notifications/tasks" && (params as JsonObject)["status"] === status,
        ),
      { what: `a notification that the task is ${status}` },
    );
  await told("input_required");
  await answerTask(here, id, { confirm: { action: "accept", content: { name: "yes" } } });
  await told("completed");
  expect(stream.messages[0]).toMatchObject({ params: { notifications: { taskIds: [id] } } });
  expect(stream.messages.at(-1)).toMatchObject({
    params: { taskId: id, result: { content: [{}] }, _meta: { "io.modelcontextprotocol/subscriptionId": "sub" } },
  });
});

test("a task ends with its connection", async () => {
  const connectionId = await connect(upstream.url);
  const { result } = await callTool(here, `slow_compute__${connectionId}`, { seconds: 60 });
  const id = String(result?.["taskId"]);
  expect((await askTask(there, "get", id)).result).toMatchObject({ status: "working" });
  await owner.call("UpdateConnection", { server_id: connectionId, agent_enabled: false });
  await until(async () => (await askTask(there, "get", id)).error !== undefined);
  expect((await askTask(there, "get", id)).error).toMatchObject(UNKNOWN_TASK);
  await owner.call("UpdateConnection", { server_id: connectionId, agent_enabled: true });
  await until(async () => (await askTask(there, "get", id)).error === undefined);
  await owner.call("DeleteConnection", { server_id: connectionId });
  for (const wire of [here, there]) expect((await askTask(wire, "get", id)).error).toMatchObject(UNKNOWN_TASK);
});

test("a task is unknown once its time to live is over", async () => {
  const connectionId = await connect(brief.url);
  const { result } = await callTool(here, `slow_compute__${connectionId}`, { seconds: 0 });
  expect(result).toMatchObject({ resultType: "task", ttlMs: 2_000 });
  const id = String(result?.["taskId"]);
  expect((await askTask(there, "get", id)).result).toMatchObject({ taskId: id });
  await until(async () => (await askTask(there, "get", id)).error !== undefined);
  expect((await askTask(here, "get", id)).error).toMatchObject(UNKNOWN_TASK);
});

test("refuses a task beyond the account's limit and cancels it at its upstream", async () => {
  const full = await accounts.create();
  const fullOwner = createOwner(createProtocolClient("rest", urlOf(0)), await full.token());
  const connectionId = await fullOwner.create({ server_type: "mcp", configuration: { url: upstream.url } });
  await fullOwner.waitFor(connectionId, "verified");
  await accounts.query(
    `insert into mcp_task (account_id, id, connection_id, client_id, sealed_state, expires_at)
     select $1, n::text, $2, 'c', '\\x00', now() + interval '1 hour' from generate_series(1, 1000) n`,
    [full.id, Number(connectionId)],
  );
  const before = upstream.modernTasks.canceled.length;
  const { error } = await callTool(createWire(urlOf(0), await full.token()), "slow_compute", { seconds: 60 });
  expect(error).toMatchObject({ message: /The account holds 1000 tasks, which is the limit/ });
  await until(async () => upstream.modernTasks.canceled.length > before);
});
