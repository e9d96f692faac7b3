import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { DEFAULT_TOOLS, describeTool, startUpstream, type Upstream } from "../support/upstream.ts";
import { isSignedWith, type Received, type Receiver, startReceiver } from "../webhooks/receiver.ts";

let database: TestDatabase;
let upstream: Upstream;
let receiver: Receiver;
let replicas: readonly Service[] = [];
let accounts: TestAccounts;
let here: Owner;
let there: Owner;

beforeAll(async () => {
  [database, upstream, receiver] = await Promise.all([createTestDatabase(), startUpstream(), startReceiver()]);
  const env = {
    OUTBOUND_ALLOW: `${upstream.host},${receiver.host}`,
    PUBLIC_URL: "http://patchbay.example.com:8080",
  };
  const options = { databaseUrl: database.url, masterKeys: createMasterKeys(), env };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
});

afterAll(async () => {
  await Promise.all(replicas.map((service) => service.stop()));
  await accounts?.close();
  await Promise.all([upstream?.close(), receiver?.close(), database?.close()]);
});

beforeEach(async () => {
  const [first, second] = replicas;
  if (first === undefined || second === undefined) throw new Error("expected two replicas");
  const token = await (await accounts.create()).token();
  here = createOwner(createProtocolClient("rest", first.url), token);
  there = createOwner(createProtocolClient("grpc", second.url), token);
  receiver.received.length = 0;
  receiver.answer = (response) => response.writeHead(204).end();
  upstream.tools = [...DEFAULT_TOOLS];
  upstream.key = undefined;
});

const ALL = [
  "connection.created",
  "connection.verified",
  "connection.failed",
  "connection.needs_authorization",
  "connection.deleted",
  "tool_changes.pending",
];

async function createWebhook(owner: Owner): Promise<{ readonly id: string; readonly secret: string }> {
  const { data, secret } = await owner.call("CreateWebhook", { url: receiver.url, event_types: ALL });
  return { id: String((data as JsonObject)["id"]), secret: String(secret) };
}

/** Waits for the next event of this type about a connection. */
function received(type: string, id: string): Promise<Received> {
  return until(
    async () => receiver.received.find((each) => each.type === type && each.data["mcp_server_id"] === Number(id)),
    { what: `${type} of ${id}` },
  );
}

const connection = (more: JsonObject = {}): JsonObject => ({
  server_type: "mcp",
  name: "Shared",
  configuration: { url: upstream.url, ...more },
});

test("a receiver gets a signed event for every change of a connection, in order, from any replica", async () => {
  const { secret } = await createWebhook(here);
  upstream.key = "right-key-of-the-upstream";
  const id = await here.create(connection({ api_token: upstream.key }));
  await received("connection.verified", id);
  // The first list is accepted; later ones are compared with it.
  expect(await here.toolNames(id)).toHaveLength(3);

  upstream.tools = [...DEFAULT_TOOLS.slice(0, 2), describeTool("remove", { description: "Removes more." })];
  upstream.tellsOfTools = true;
  await here.call("CallTool", { name: "look_up", arguments: {} }, await here.open());
  upstream.tellsOfTools = false;
  await until(async () => {
    const { data } = await here.call("ListConnectionTools", { server_id: id });
    return JSON.stringify(data).includes('"change_pending":true');
  });
  expect((await received("tool_changes.pending", id)).data).toMatchObject({ pending_tool_changes: 1 });

  await there.call("UpdateConnection", { server_id: id, api_key: "wrong-key-of-the-upstream" });
  expect((await received("connection.failed", id)).data).toMatchObject({
    mcp_server_name: "Shared",
    status: "error",
    status_reason: expect.any(String) as string,
  });
  await there.call("DeleteConnection", { server_id: id });
  await received("connection.deleted", id);

  expect(receiver.received.map(({ type }) => type)).toEqual([
    "connection.created",
    "connection.verified",
    "tool_changes.pending",
    "connection.failed",
    "connection.deleted",
  ]);
  for (const request of receiver.received) {
    expect(isSignedWith(secret, request)).toBe(true);
    expect(request.body).not.toContain("key-of-the-upstream");
  }
  const data = await until(async () => {
    const listed = await there.call("ListWebhookDeliveries", { status: "delivered" });
    return listed["total_count"] === 5 && listed["data"];
  });
  expect((data as JsonObject[]).map((each) => [each["id"], each["status"], each["response_status"]])).toEqual(
    receiver.received.map((each) => [each.id, "delivered", 204]).toReversed(),
  );
});

test("a replica that remembers an account without webhooks learns of its first one", async () => {
  // The replica remembers it as an account without a webhook.
  await there.create(connection());
  await createWebhook(here);
  await until(async () => {
    const id = await there.create(connection());
    await there.call("DeleteConnection", { server_id: id });
    const { total_count: count } = await here.call("ListWebhookDeliveries");
    return Number(count) > 0;
  });
  await until(async () => receiver.received.length > 0);
});

test("an account receives only events of its own connections", async () => {
  await createWebhook(here);
  const [first] = replicas;
  const stranger = await accounts.create();
  const other = createOwner(createProtocolClient("rest", first?.url ?? ""), await stranger.token());
  const theirs = await other.create(connection());
  await other.waitFor(theirs, "verified");
  const id = await here.create(connection());
  await received("connection.verified", id);
  expect(new Set(receiver.received.map(({ data }) => String(data["mcp_server_id"])))).toEqual(new Set([id]));
});

test("a receiver that was down gets every event once it is back and a delivery is resent", async () => {
  await createWebhook(here);
  receiver.answer = (response) => response.writeHead(503).end();
  const id = await here.create(connection());
  await here.waitFor(id, "verified");
  const failing = await until(async () => {
    const { data } = await here.call("ListWebhookDeliveries", { status: "pending" });
    const [verified, created] = data as JsonObject[];
    return created?.["response_status"] === 503 && verified !== undefined && created;
  });
  expect(failing).toMatchObject({ event_type: "connection.created", error: "The receiver answered 503." });
  receiver.answer = (response) => response.writeHead(200).end("ok");
  receiver.received.length = 0;
  await there.call("ResendWebhookDelivery", { delivery_id: String(failing["id"]) });
  await received("connection.verified", id);
  expect(receiver.received.map(({ type }) => type)).toEqual(["connection.created", "connection.verified"]);
});

test.each(["rest", "grpc"] as const)("an id with NUL is not found over %s", async (protocol) => {
  const client = createProtocolClient(protocol, replicas[0]?.url ?? "");
  const call = (operation: string, input: JsonObject) => client.call(operation, { input, token: here.token });
  for (const operation of ["GetWebhook", "UpdateWebhook", "RotateWebhookSecret", "DeleteWebhook"])
    expect(
      (await call(operation, { webhook_id: "a\0b", ...(operation === "UpdateWebhook" && { name: "x" }) })).message,
    ).toBe("Webhook a?b not found or not accessible");
  for (const operation of ["GetWebhookDelivery", "ResendWebhookDelivery"])
    expect((await call(operation, { delivery_id: "a\0b" })).message).toBe(
      "Webhook delivery a?b not found or not accessible",
    );
  expect((await call("ListWebhookDeliveries", { webhook_id: "a\0b" })).message).toBe(
    "webhook_id must not contain NUL characters.",
  );
});
