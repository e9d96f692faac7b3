import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from "vitest";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client as SessionClient } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as SessionTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from "@modelcontextprotocol/sdk/types.js";
import type { JsonObject } from "../../src/json.ts";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { type RoundRobin, startRoundRobin } from "../conformance/round-robin.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { createWire, modernHeaders, modernMeta, type Wire } from "../support/mcp-wire.ts";
import { createOwner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";

/**
 * Clients and upstreams of both kinds, and two replicas that receive the requests in turn, so that a client's answer
 * always arrives at another replica than the waiting call.
 */
const WAIT = { timeout: 20_000, interval: 20 };
const UPSTREAMS = ["legacy", "modern"] as const;

let database: TestDatabase;
let replicas: readonly Service[];
let accounts: TestAccounts;
let balancer: RoundRobin;
let publicUrl: string;
const upstreams = new Map<string, { server: EverythingServer; id: string; token: string }>();

beforeAll(async () => {
  database = await createTestDatabase();
  const servers = await Promise.all(UPSTREAMS.map((revision) => startEverythingServer(revision)));
  const port = await freePort();
  publicUrl = `http://localhost:${port}`;
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: servers.map(({ host }) => host).join(","), PUBLIC_URL: publicUrl },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  const account = await accounts.create();
  const token = await account.token();
  const owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  for (const [index, server] of servers.entries()) {
    const id = await owner.create({ server_type: "mcp", configuration: { url: server.url } });
    await owner.waitFor(id, "verified");
    upstreams.set(UPSTREAMS[index] ?? "", { server, id, token });
  }
  balancer = await startRoundRobin({ port, targets: replicas.map(({ url }) => url), token });
}, 90_000);

afterAll(async () => {
  balancer?.close();
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  for (const { server } of upstreams.values()) await server.close();
  await database?.close();
});

function urlOf(index: number): string {
  return replicas[index]?.url ?? "";
}

type Upstream = (typeof UPSTREAMS)[number];
type Answer = (method: string, params: JsonObject) => JsonObject | Promise<JsonObject>;
interface Caller {
  call(tool: string, args?: JsonObject): Promise<JsonObject>;
}

const CAPABILITIES = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} };
const METHODS = ["elicitation/create", "sampling/createMessage", "roots/list"] as const;
const SCHEMAS = [ElicitRequestSchema, CreateMessageRequestSchema, ListRootsRequestSchema] as const;

function pathTo(upstream: Upstream): URL {
  return new URL(`${publicUrl}/mcp/${upstreams.get(upstream)?.id}`);
}

async function openSessionClient(upstream: Upstream, answer: Answer, capabilities: JsonObject): Promise<Caller> {
  const client = new SessionClient({ name: "old", version: "1" }, { capabilities });
  for (const [index, method] of METHODS.entries()) {
    if (capabilities[method.split("/")[0]?.replace(/^(.)/, "$1") ?? ""] === undefined) continue;
    client.setRequestHandler(
      SCHEMAS[index] ?? ElicitRequestSchema,
      async ({ params }) => (await answer(method, params as JsonObject)) as never,
    );
  }
  await client.connect(new SessionTransport(pathTo(upstream)));
  onTestFinished(() => client.close());
  return { call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as JsonObject };
}

async function openModernClient(upstream: Upstream, answer: Answer, capabilities: JsonObject): Promise<Caller> {
  const client = new ModernClient(
    { name: "new", version: "1" },
    { capabilities, versionNegotiation: { mode: "auto" } },
  );
  for (const method of METHODS) {
    if (capabilities[method.split("/")[0] ?? ""] === undefined) continue;
    client.setRequestHandler(
      method,
      async ({ params }) => (await answer(method, (params ?? {}) as JsonObject)) as never,
    );
  }
  await client.connect(new ModernTransport(pathTo(upstream)));
  onTestFinished(() => client.close());
  return { call: async (name, args = {}) => (await client.callTool({ name, arguments: args })) as JsonObject };
}

const CLIENTS = [
  ["a client of 2025-11-25", openSessionClient],
  ["a client of 2026-07-28", openModernClient],
] as const;
const PAIRS = CLIENTS.flatMap(([name, open]) => UPSTREAMS.map((upstream) => [name, upstream, open] as const));

const answerAll: Answer = (method) => {
  if (method === "roots/list") return { roots: [{ uri: "file:///home/ada" }] };
  if (method === "elicitation/create") return { action: "accept", content: { name: "Ada", ok: true } };
  return { role: "assistant", model: "m", content: { type: "text", text: "Good day" } };
};

const textOf = (result: JsonObject): string => JSON.stringify(result["content"]);

describe.each(PAIRS)("%s and an upstream of the %s kind", (_, upstream, open) => {
  test("sampling, elicitation and roots reach the client, and its answers the upstream", async () => {
    const client = await open(upstream, answerAll, CAPABILITIES);
    const text = textOf(await client.call("test_input_required_result_multiple_inputs"));
    for (const part of ["Ada", "Good day", "file:///home/ada"]) expect(text).toContain(part);
  });

  test("an upstream can send several requests in one call", async () => {
    const asked: unknown[] = [];
    const client = await open(
      upstream,
      (method, params) => {
        asked.push(params["message"]);
        return answerAll(method, params);
      },
      CAPABILITIES,
    );
    expect(textOf(await client.call("test_input_required_result_multi_round"))).toContain("Done");
    expect(asked).toEqual(["Step 1: What is your name?", "Step 2: Your favorite color?"]);
  });

  test("a person can decline, or log in at a URL", async () => {
    const asked: JsonObject[] = [];
    const client = await open(
      upstream,
      (_method, params) => {
        asked.push(params);
        return { action: "decline" };
      },
      CAPABILITIES,
    );
    expect(textOf(await client.call("test_url_elicitation"))).toContain("decline");
    expect(asked).toMatchObject([{ mode: "url", url: "https://login.example.com/start" }]);
  });

  test("the upstream may request only capabilities that the client declared", async () => {
    const asked: string[] = [];
    const answer: Answer = (method, params) => {
      asked.push(method);
      return answerAll(method, params);
    };
    const sampling = await open(upstream, answer, { sampling: {} });
    const elicitation = await open(upstream, answer, { elicitation: {} });
    for (const client of [sampling, elicitation, sampling])
      await client.call("test_input_required_result_capabilities");
    expect(asked).toEqual(["sampling/createMessage", "elicitation/create", "sampling/createMessage"]);
  });
});

test("an upstream receives a clear error for a request that the client does not support", async () => {
  const client = await openSessionClient("legacy", answerAll, { sampling: {} });
  const result = await client.call("test_input_required_result_elicitation").catch((error: unknown) => String(error));
  expect(JSON.stringify(result)).toContain("elicitation/create is not supported by the client of this call");
});

function wireTo(index: number, upstream: Upstream): Wire {
  const { id, token } = upstreams.get(upstream) ?? { id: "", token: "" };
  return createWire(urlOf(index), token, `/mcp/${id}`);
}

const NAME = "test_input_required_result_elicitation";

function callParked(index: number, more: JsonObject = {}) {
  const _meta = modernMeta({ "io.modelcontextprotocol/clientCapabilities": CAPABILITIES });
  const params = { name: NAME, arguments: {}, ...more, _meta };
  return wireTo(index, "legacy").call("tools/call", params, { headers: modernHeaders("tools/call", NAME) });
}

test("a call that waits for input continues once, on another replica, and requests missing input again", async () => {
  const first = (await callParked(0)).last["result"] as JsonObject;
  expect(first).toMatchObject({ resultType: "input_required", inputRequests: { user_name: {} } });
  const again = (
    await callParked(1, { requestState: first["requestState"] ?? "", inputResponses: { other: { action: "cancel" } } })
  ).last["result"] as JsonObject;
  expect(again).toMatchObject({ resultType: "input_required", inputRequests: { user_name: {} } });
  const input = {
    requestState: again["requestState"] ?? "",
    inputResponses: { user_name: { action: "accept", content: { name: "Ada" } } },
  };
  expect((await callParked(1, input)).last).toMatchObject({ result: { resultType: "complete" } });
  for (const index of [0, 1])
    expect((await callParked(index, input)).last).toMatchObject({
      error: { code: -32602, message: /no longer running/ },
    });
});

test("uses answers that a client sends with its first request, and no others", async () => {
  const known = { user_name: { action: "accept", content: { name: "Ada" } } };
  const other = { other: { action: "accept", content: {} }, 0: { action: "accept", content: { name: "Eve" } } };
  const complete = (await callParked(0, { inputResponses: { ...known, ...other } })).last["result"];
  expect(complete).toMatchObject({ resultType: "complete" });
  expect(JSON.stringify(complete)).toContain("Ada");
  expect((await callParked(0, { inputResponses: other })).last).toMatchObject({
    result: { resultType: "input_required", inputRequests: { user_name: {} } },
  });
});

test("canceling a call cancels its pending request to the client", async () => {
  const [here, there] = [wireTo(0, "legacy"), wireTo(1, "legacy")];
  const opened = await here.call("initialize", {
    protocolVersion: "2025-11-25",
    capabilities: CAPABILITIES,
    clientInfo: { name: "old", version: "1" },
  });
  const headers = { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  const stream = await here.stream({
    method: "POST",
    headers,
    body: { jsonrpc: "2.0", id: "call-1", method: "tools/call", params: { name: NAME, arguments: {} } },
  });
  const asked = (): JsonObject | undefined => stream.messages.find(({ method }) => method === "elicitation/create");
  await vi.waitFor(() => expect(asked()).toBeDefined(), WAIT);
  await there.send({
    headers,
    body: { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: "call-1" } },
  });
  await stream.ended;
  expect(stream.messages.at(-1)).toMatchObject({
    method: "notifications/cancelled",
    params: { requestId: asked()?.["id"] },
  });
});

test("another session of the account cannot answer a request to the client", async () => {
  const [here, there] = [wireTo(0, "legacy"), wireTo(1, "legacy")];
  const open = async (wire: Wire) => {
    const opened = await wire.call("initialize", {
      protocolVersion: "2025-11-25",
      capabilities: CAPABILITIES,
      clientInfo: { name: "old", version: "1" },
    });
    return { "mcp-session-id": String(opened.headers["mcp-session-id"]) };
  };
  const [own, other] = [await open(here), await open(there)];
  const stream = await here.stream({
    method: "POST",
    headers: own,
    body: { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: NAME, arguments: {} } },
  });
  const asked = (): JsonObject | undefined => stream.messages.find(({ method }) => method === "elicitation/create");
  await vi.waitFor(() => expect(asked()).toBeDefined(), WAIT);
  const answer = (name: string) => ({
    jsonrpc: "2.0",
    id: asked()?.["id"] ?? "",
    result: { action: "accept", content: { name } },
  });
  expect((await there.send({ headers: other, body: answer("Mallory") })).status).toBe(202);
  expect((await there.send({ headers: own, body: answer("Ada") })).status).toBe(202);
  await stream.ended;
  const text = JSON.stringify(stream.messages.at(-1));
  expect(text).toContain("Ada");
  expect(text).not.toContain("Mallory");
});
