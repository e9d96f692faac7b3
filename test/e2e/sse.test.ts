/* eslint-disable @typescript-eslint/no-deprecated -- hosts that speak only this transport still exist. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { SSEClientTransport } from "@modelcontextprotocol/sdk/client/sse.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  ToolListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../src/json.ts";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { type RoundRobin, startRoundRobin } from "../conformance/round-robin.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { createWire, type Wire, type WireStream } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { type SseServer, startSseServer } from "../support/sse-server.ts";
import { until } from "../support/until.ts";

/**
 * Hosts that speak HTTP+SSE, the transport of 2024-11-05, with two replicas. The balancer sends the stream to one
 * replica and the messages to both in turn.
 */
let database: TestDatabase;
let sse: SseServer;
let everything: EverythingServer;
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let token: string;
let owner: Owner;
let balancer: RoundRobin;
let publicUrl: string;
let sseId: string;
let everythingId: string;

beforeAll(async () => {
  [database, sse, everything] = await Promise.all([
    createTestDatabase(),
    startSseServer(),
    startEverythingServer("legacy"),
  ]);
  const port = await freePort();
  publicUrl = `http://localhost:${port}`;
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: `${sse.host},${everything.host}`, PUBLIC_URL: publicUrl },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  account = await accounts.create();
  token = await account.token();
  owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  [sseId, everythingId] = await Promise.all([connect(sse.url), connect(everything.url)]);
  balancer = await startRoundRobin({ port, targets: replicas.map(({ url }) => url), token });
}, 90_000);

afterAll(async () => {
  balancer?.close();
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await Promise.all([sse?.close(), everything?.close()]);
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

const asked = { elicitation: 0, sampling: 0, roots: 0 };

async function openClient(path: string, capabilities: JsonObject = {}): Promise<Client> {
  const client = new Client({ name: "host", version: "1" }, { capabilities });
  if (capabilities["elicitation"] !== undefined)
    client.setRequestHandler(ElicitRequestSchema, async () => {
      asked.elicitation += 1;
      return { action: "accept" as const, content: { name: "Ada" } };
    });
  if (capabilities["sampling"] !== undefined)
    client.setRequestHandler(CreateMessageRequestSchema, async () => {
      asked.sampling += 1;
      return { role: "assistant" as const, model: "m", content: { type: "text" as const, text: "Hi" } };
    });
  if (capabilities["roots"] !== undefined)
    client.setRequestHandler(ListRootsRequestSchema, async () => {
      asked.roots += 1;
      return { roots: [{ uri: "file:///home/ada", name: "home" }] };
    });
  await client.connect(new SSEClientTransport(new URL(publicUrl + path)));
  onTestFinished(() => client.close());
  return client;
}

/** The stream of a raw client and the path of its POST requests. */
async function openStream(wire: Wire): Promise<{ stream: WireStream; path: string }> {
  const stream = await wire.stream({});
  expect(stream.status).toBe(200);
  onTestFinished(() => stream.close());
  await until(async () => stream.text().includes("\n\n"));
  const [, path = ""] = /^event: endpoint\ndata: (.*)\n\n/.exec(stream.text()) ?? [];
  expect(path).toMatch(/^\/sse.*\?sessionId=/);
  return { stream, path };
}

function wireTo(index: number, path = "/sse", own = token): Wire {
  return createWire(urlOf(index), own, path);
}

const request = (id: number | string, method: string, params: JsonObject = {}) => ({
  jsonrpc: "2.0",
  id,
  method,
  params,
});

const INITIALIZE = {
  protocolVersion: "2024-11-05",
  capabilities: {},
  clientInfo: { name: "raw", version: "1" },
};

const answerTo = (stream: WireStream, id: number | string): Promise<JsonObject> =>
  until(async () => stream.messages.find((message) => message["id"] === id), { what: `the answer to ${id}` });

describe("a host of SDK v1", () => {
  test("lists and calls tools of upstreams with Streamable HTTP and with HTTP+SSE", async () => {
    const client = await openClient("/sse");
    const { tools } = await client.listTools();
    const names = tools.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(["look_up", "test_simple_text"]));
    for (const name of ["look_up", "test_simple_text", "look_up", "test_simple_text"])
      expect(await client.callTool({ name })).toMatchObject({ content: [{ type: "text" }] });
  });

  test("receives the progress of a call before its result", async () => {
    const client = await openClient(`/sse/${sseId}`);
    const progress: number[] = [];
    const result = await client.callTool({ name: "count" }, undefined, {
      onprogress: (one) => void progress.push(one.progress),
    });
    expect(progress).toEqual([1, 2, 3]);
    expect(result.content).toEqual([{ type: "text", text: "counted" }]);
  });

  test("cancels a call at its upstream", async () => {
    const client = await openClient("/sse");
    const before = sse.canceled();
    const controller = new AbortController();
    const call = client.callTool({ name: "wait" }, undefined, { signal: controller.signal });
    await until(async () => sse.running() === 1);
    controller.abort("no longer wanted");
    await expect(call).rejects.toThrow("no longer wanted");
    await until(async () => sse.canceled() === before + 1);
  });

  test("answers elicitation, sampling and roots of upstreams of both transports", async () => {
    const capabilities = { elicitation: {}, sampling: {}, roots: {} };
    const overSse = await openClient(`/sse/${sseId}`, capabilities);
    const before = { ...asked };
    expect(await overSse.callTool({ name: "ask_person" })).toMatchObject({ content: [{ text: "accept Ada" }] });
    expect(JSON.stringify(await overSse.callTool({ name: "ask_model" }))).toContain("Hi");
    expect(JSON.stringify(await overSse.callTool({ name: "ask_roots" }))).toContain("file:///home/ada");
    expect(asked).toEqual({
      elicitation: before.elicitation + 1,
      sampling: before.sampling + 1,
      roots: before.roots + 1,
    });
    const overHttp = await openClient(`/sse/${everythingId}`, capabilities);
    await overHttp.callTool({ name: "test_input_required_result_elicitation" });
    await overHttp.callTool({ name: "test_input_required_result_sampling" });
    expect(asked).toMatchObject({ elicitation: before.elicitation + 2, sampling: before.sampling + 2 });
  });

  test("is notified when the tools of a connection change, at its owner and at its upstream", async () => {
    const client = await openClient("/sse");
    let changes = 0;
    client.setNotificationHandler(ToolListChangedNotificationSchema, () => void (changes += 1));
    await client.listTools();
    await owner.call("UpdateConnection", { server_id: sseId, access_type: "read" });
    await vi.waitFor(() => expect(changes).toBeGreaterThan(0), { timeout: 10_000 });
    await owner.call("UpdateConnection", { server_id: sseId, access_type: "write" });
    await vi.waitFor(() => expect(changes).toBeGreaterThan(1), { timeout: 10_000 });
    const before = changes;
    await client.callTool({ name: "add_tool" });
    await vi.waitFor(() => expect(changes).toBeGreaterThan(before), { timeout: 10_000 });
  });

  test("reconnects to another replica and calls tools again after its replica was killed", async () => {
    const service = await startService({ databaseUrl: database.url, ...replicaOptions() });
    const { url } = service;
    const port = await freePort();
    const targets = [url];
    const ownBalancer = await startRoundRobin({ port, targets, token });
    onTestFinished(() => ownBalancer.close());
    const client = new Client({ name: "host", version: "1" });
    const transport = new SSEClientTransport(new URL(`http://localhost:${port}/sse`));
    await client.connect(transport);
    onTestFinished(() => client.close());
    expect(await client.callTool({ name: "look_up" })).toMatchObject({ content: [{ text: "found" }] });
    targets[0] = urlOf(1);
    await service.kill();
    await until(async () => (await client.ping({ timeout: 2_000 }).catch(() => undefined)) !== undefined, {
      what: "the client has reconnected",
    });
    expect(await client.callTool({ name: "look_up" })).toMatchObject({ content: [{ text: "found" }] });
  });
});

function replicaOptions() {
  const [first] = replicas;
  return {
    masterKeys: first?.env["PATCHBAY_KEYS"] ?? "",
    env: { OUTBOUND_ALLOW: `${sse.host},${everything.host}`, PUBLIC_URL: publicUrl },
  };
}

describe("the stream of a session", () => {
  test("receives answers to messages that other replicas received", async () => {
    const { stream, path } = await openStream(wireTo(0));
    for (const [id, index] of [1, 1, 0, 1].entries()) {
      const body = id === 0 ? request(id, "initialize", INITIALIZE) : request(id, "tools/call", { name: "look_up" });
      const sent = await wireTo(index).send({ path, body });
      expect(sent).toMatchObject({ status: 202, text: "" });
      expect(await answerTo(stream, id)).toHaveProperty("result");
    }
    expect(stream.messages[0]).toMatchObject({ result: { protocolVersion: "2024-11-05" } });
  });

  test("accepts a cancellation on the other replica and sends no response to the call", async () => {
    const { stream, path } = await openStream(wireTo(0));
    await wireTo(0).send({ path, body: request(0, "initialize", INITIALIZE) });
    await answerTo(stream, 0);
    const before = sse.canceled();
    await wireTo(0).send({ path, body: request("slow", "tools/call", { name: "wait" }) });
    await until(async () => sse.running() === 1);
    const params = { requestId: "slow" };
    await wireTo(1).send({ path, body: { jsonrpc: "2.0", method: "notifications/cancelled", params } });
    await until(async () => sse.canceled() === before + 1);
    await wireTo(1).send({ path, body: request(1, "ping") });
    await answerTo(stream, 1);
    expect(stream.messages.map(({ id }) => id)).toEqual([0, 1]);
  });

  test("cancels its calls when the client closes it", async () => {
    const { stream, path } = await openStream(wireTo(0));
    await wireTo(0).send({ path, body: request(0, "initialize", INITIALIZE) });
    await answerTo(stream, 0);
    const before = sse.canceled();
    await wireTo(1).send({ path, body: request(1, "tools/call", { name: "wait" }) });
    await until(async () => sse.running() === 1);
    stream.close();
    await until(async () => sse.canceled() === before + 1);
    await until(async () => (await wireTo(1).send({ path, body: request(2, "ping") })).status === 404);
  });

  test("serves requests before initialize, which is accepted once", async () => {
    const { stream, path } = await openStream(wireTo(0));
    await wireTo(1).send({ path, body: request(1, "tools/list") });
    expect(await answerTo(stream, 1)).toHaveProperty("result");
    await wireTo(1).send({ path, body: request(2, "ping") });
    expect(await answerTo(stream, 2)).toMatchObject({ result: {} });
    await wireTo(1).send({
      path,
      body: request(3, "initialize", { ...INITIALIZE, clientInfo: 7, protocolVersion: 7 }),
    });
    expect(await answerTo(stream, 3)).toMatchObject({ error: { code: -32602 } });
    await wireTo(1).send({ path, body: request(4, "initialize", INITIALIZE) });
    expect(await answerTo(stream, 4)).toHaveProperty("result");
    await wireTo(0).send({ path, body: request(5, "initialize", INITIALIZE) });
    expect(await answerTo(stream, 5)).toMatchObject({ error: { message: "The session is already initialized." } });
  });

  test("ends within seconds after its token is revoked", async () => {
    const other = await accounts.create();
    const { id, token: pat } = (await replicas[0]?.command(
      ...["pat", "create", "--account", other.email, "--scope", "mcp.read"],
    )) as { id: string; token: string };
    const { stream, path } = await openStream(wireTo(1, "/sse", pat));
    await replicas[0]?.command("pat", "revoke", id);
    await stream.ended;
    expect((await wireTo(0, "/sse", pat).send({ path, body: request(1, "ping") })).status).toBe(401);
  });

  test("lives as long as the newest token of its client", async () => {
    const expiring = await accounts.forge(account, { exp: Math.floor(Date.now() / 1_000) + 4 });
    const newer = await accounts.forge(account, {});
    const { stream, path } = await openStream(wireTo(0, "/sse", expiring));
    const { stream: control } = await openStream(wireTo(0, "/sse", expiring));
    await wireTo(1, "/sse", newer).send({ path, body: request(1, "ping") });
    await answerTo(stream, 1);
    await control.ended;
    expect((await wireTo(0, "/sse", expiring).send({ path, body: request(2, "ping") })).status).toBe(401);
    await wireTo(0, "/sse", newer).send({ path, body: request(3, "ping") });
    await answerTo(stream, 3);
  });

  test("serves each message with the scopes of its own token", async () => {
    const { stream, path } = await openStream(wireTo(0, "/sse", await accounts.forge(account, {})));
    const reader = await accounts.forge(account, { scopes: ["mcp.read"] });
    const listed = async (id: number, index: number, own: string): Promise<unknown> => {
      await wireTo(index, "/sse", own).send({ path, body: request(id, "tools/list") });
      return ((await answerTo(stream, id))["result"] as { tools: unknown[] }).tools.length;
    };
    expect(await listed(1, 0, reader)).toBe(0);
    expect(await listed(2, 1, reader)).toBe(0);
    expect(await listed(3, 1, await accounts.forge(account, {}))).toBeGreaterThan(0);
    await wireTo(1, "/sse", reader).send({ path, body: request(4, "tools/call", { name: "look_up" }) });
    expect(await answerTo(stream, 4)).toHaveProperty("error");
  });

  test("ends when the connection of its address is deleted", async () => {
    const id = await connect(sse.url);
    const { stream } = await openStream(wireTo(1, `/sse/${id}`));
    await owner.call("DeleteConnection", { server_id: id });
    await stream.ended;
    expect((await wireTo(0, `/sse/${id}`).stream({})).status).toBe(404);
  });

  test("delivers the response to a running call before the replica stops", async () => {
    const service = await startService({ databaseUrl: database.url, ...replicaOptions() });
    const { stream, path } = await openStream(createWire(service.url, token, "/sse"));
    const capable = { ...INITIALIZE, protocolVersion: "2025-11-25", capabilities: { elicitation: {} } };
    await wireTo(0).send({ path, body: request(0, "initialize", capable) });
    await answerTo(stream, 0);
    await wireTo(0).send({ path, body: request(1, "tools/call", { name: "ask_person" }) });
    const question = await until(async () => stream.messages.find(({ method }) => method === "elicitation/create"));
    const stopped = service.stop();
    await until(async () => (await fetch(`${service.url}/readyz`).catch(() => ({ status: 0 }))).status !== 200);
    const answer = { jsonrpc: "2.0", id: question["id"] ?? "", result: { action: "accept", content: { name: "Eve" } } };
    expect((await wireTo(1).send({ path, body: answer })).status).toBe(202);
    expect(await answerTo(stream, 1)).toMatchObject({ result: { content: [{ text: "accept Eve" }] } });
    await stream.ended;
    expect(await stopped).toBe(0);
  });
});

describe("refuses", () => {
  const ping = request(1, "ping");

  test("messages for the session of another account or client", async () => {
    const { stream, path } = await openStream(wireTo(0));
    const stranger = await (await accounts.create()).token();
    const otherClient = await account.token("mcp.read");
    for (const index of [0, 1]) {
      for (const foreign of [stranger, otherClient]) {
        const answer = await wireTo(index, "/sse", foreign).send({ path, body: ping });
        expect(answer.status).toBe(404);
      }
    }
    expect((await wireTo(1).send({ path, body: ping })).status).toBe(202);
    await answerTo(stream, 1);
    expect(stream.messages).toHaveLength(1);
  });

  test("messages for an unknown session or one whose stream is closed", async () => {
    const { stream, path } = await openStream(wireTo(0));
    const unknown = path.replace(/sessionId=.*/, `sessionId=${"x".repeat(32)}`);
    for (const index of [0, 1]) expect((await wireTo(index).send({ path: unknown, body: ping })).status).toBe(404);
    stream.close();
    for (const index of [0, 1])
      await until(async () => (await wireTo(index).send({ path, body: ping })).status === 404, { withinMs: 10_000 });
  });

  test("requests from pages of other origins", async () => {
    const { path } = await openStream(wireTo(0));
    const headers = { origin: "https://evil.example" };
    expect((await wireTo(0).send({ method: "GET", headers })).status).toBe(403);
    expect((await wireTo(1).send({ path, body: ping, headers })).status).toBe(403);
  });

  test("requests without a token, with a challenge that names the metadata of the address", async () => {
    for (const [path, metadata] of [
      ["/sse", "/.well-known/oauth-protected-resource/sse"],
      [`/sse/${sseId}`, `/.well-known/oauth-protected-resource/sse/${sseId}`],
    ] as const) {
      const answer = await createWire(urlOf(0), undefined, path).send({ method: "GET" });
      expect(answer.status).toBe(401);
      expect(answer.headers["www-authenticate"]).toContain(`resource_metadata="${publicUrl}${metadata}"`);
      const document = (await (await fetch(urlOf(1) + metadata)).json()) as JsonObject;
      expect(document).toMatchObject({ resource: publicUrl + path, authorization_servers: [publicUrl] });
    }
  });

  test("messages that are malformed, too large or not for a stream", async () => {
    const { path } = await openStream(wireTo(0));
    const post = async (body: unknown, more: object = {}) => (await wireTo(1).send({ path, body, ...more })).status;
    expect(await post("{")).toBe(400);
    expect(await post({ hello: 1 })).toBe(400);
    expect(await post(ping, { headers: { "mcp-protocol-version": "2026-07-28" } })).toBe(400);
    expect(await post(ping, { headers: { "content-type": "text/plain" } })).toBe(415);
    expect(await post(JSON.stringify(request(1, "ping", { text: "x".repeat(5 * 1024 * 1024) })))).toBe(413);
    const streamable = await wireTo(0).send({ body: request(1, "initialize", INITIALIZE) });
    expect(streamable).toMatchObject({ status: 405, headers: { allow: "GET" } });
    expect((await wireTo(0).send({ method: "DELETE" })).status).toBe(405);
    expect((await wireTo(0).send({ method: "GET", headers: { accept: "application/json" } })).status).toBe(406);
    expect((await wireTo(0, "/sse/0").send({ method: "GET" })).status).toBe(404);
  });
});
