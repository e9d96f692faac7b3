import { afterAll, beforeAll, expect, test } from "vitest";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { JsonObject } from "../../src/json.ts";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders, modernMeta, type Wire } from "../support/mcp-wire.ts";
import { createOwner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";

let database: TestDatabase;
let upstream: EverythingServer;
let replicas: readonly Service[];
let accounts: TestAccounts;
let account: TestAccount;
let token: string;
let here: Wire;
let there: Wire;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startEverythingServer("modern")]);
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { OUTBOUND_ALLOW: upstream.host, PUBLIC_URL: "http://patchbay.example.com:8080" },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  account = await accounts.create();
  token = await account.token();
  const owner = createOwner(createProtocolClient("rest", urlOf(0)), token);
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
  await owner.waitFor(id, "verified");
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

const CAPABILITIES = { elicitation: {}, sampling: {}, roots: {} };
const ANSWER = { action: "accept", content: { name: "Ada", ok: true } };

async function request(wire: Wire, method: string, params: JsonObject, capabilities: JsonObject = CAPABILITIES) {
  const _meta = modernMeta({ "io.modelcontextprotocol/clientCapabilities": capabilities });
  const name = String(params["name"]);
  const { last } = await wire.call(method, { ...params, _meta }, { headers: modernHeaders(method, name) });
  return last as { readonly result?: JsonObject; readonly error?: { readonly code: number; readonly message: string } };
}

const call = (wire: Wire, tool: string, more: JsonObject = {}, capabilities?: JsonObject) =>
  request(wire, "tools/call", { name: `test_input_required_result_${tool}`, arguments: {}, ...more }, capabilities);

test("relays an upstream's requests to the client and the client's answers back, over two replicas", async () => {
  const first = await call(here, "multi_round");
  expect(first.result).toMatchObject({
    resultType: "input_required",
    inputRequests: { step1: { method: "elicitation/create", params: { message: "Step 1: What is your name?" } } },
  });
  const requestState = first.result?.["requestState"] ?? "";
  const second = await call(there, "multi_round", { inputResponses: { step1: ANSWER }, requestState });
  expect(second.result).toMatchObject({ resultType: "input_required", inputRequests: { step2: {} } });
  expect(second.result?.["requestState"]).not.toBe(requestState);
  const third = await call(here, "multi_round", {
    inputResponses: { step2: { action: "accept", content: { color: "blue" } } },
    requestState: second.result?.["requestState"] ?? "",
  });
  expect(third.result).toMatchObject({ resultType: "complete" });
  expect(JSON.stringify(third.result)).toContain("blue");
});

test("relays an input request of a prompt to the client", async () => {
  const name = "test_input_required_result_prompt";
  const first = await request(here, "prompts/get", { name });
  expect(first.result).toMatchObject({ resultType: "input_required", inputRequests: { user_context: {} } });
  const second = await request(there, "prompts/get", {
    name,
    inputResponses: { user_context: { action: "accept", content: { context: "tests" } } },
    requestState: first.result?.["requestState"] ?? "",
  });
  expect(second.result).toMatchObject({ resultType: "complete", messages: [{ role: "user" }] });
});

test("declares to the upstream exactly the capabilities of the client", async () => {
  const methods = async (capabilities: JsonObject) => {
    const { result } = await call(here, "capabilities", {}, capabilities);
    return Object.values((result?.["inputRequests"] ?? {}) as Record<string, JsonObject>).map(({ method }) => method);
  };
  expect(await methods({ sampling: {} })).toEqual(["sampling/createMessage"]);
  expect(await methods({ elicitation: { form: {} } })).toEqual(["elicitation/create"]);
  expect(await methods(CAPABILITIES)).toEqual(["sampling/createMessage", "elicitation/create"]);
});

test("rejects a requestState that was changed, or belongs to another tool or client", async () => {
  const { result } = await call(here, "request_state");
  const requestState = String(result?.["requestState"]);
  const input = { inputResponses: { confirm: ANSWER }, requestState };
  const other = createWire(urlOf(1), await account.token());
  const foreign = createWire(urlOf(1), await (await accounts.create()).token());
  const refused = [
    await call(there, "request_state", { ...input, requestState: `${requestState}-TAMPERED` }),
    await call(there, "tampered_state", input),
    await call(there, "request_state", { ...input, arguments: { more: 1 } }),
    await call(foreign, "request_state", input),
  ];
  for (const { error } of refused) expect(error).toMatchObject({ code: -32602, message: /requestState is not valid/ });
  // Another token of the same client is the same client.
  expect((await call(other, "request_state", input)).result).toMatchObject({ resultType: "complete" });
});

test("rejects malformed input with a clear error", async () => {
  for (const inputResponses of [null, [], "x", { user_name: 12345 }]) {
    const { error } = await call(here, "elicitation", { inputResponses });
    expect(error).toMatchObject({ code: -32602, message: /inputResponses must be an object/ });
  }
  const { error } = await call(here, "elicitation", { requestState: 7 });
  expect(error).toMatchObject({ code: -32602, message: "requestState must be a string." });
});

test("returns an error result to a client with sessions that does not support input requests", async () => {
  const session = await here.open();
  const { last } = await here.call(
    "tools/call",
    { name: "test_input_required_result_elicitation", arguments: {} },
    { headers: session },
  );
  expect(last).toMatchObject({ result: { isError: true } });
  expect(JSON.stringify(last)).toContain("cannot answer such requests");
});

test("works with the SDK's client, which answers input requests automatically", async () => {
  const client = new Client(
    { name: "asked", version: "1" },
    { capabilities: { elicitation: {}, sampling: {}, roots: {} }, versionNegotiation: { mode: "auto" } },
  );
  client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: { name: "Ada" } }));
  client.setRequestHandler("sampling/createMessage", () => ({
    role: "assistant",
    model: "m",
    content: { type: "text", text: "Hello" },
  }));
  client.setRequestHandler("roots/list", () => ({ roots: [{ uri: "file:///home" }] }));
  const headers = { authorization: `Bearer ${token}` };
  await client.connect(new StreamableHTTPClientTransport(new URL(`${urlOf(0)}/mcp`), { requestInit: { headers } }));
  try {
    const result = await client.callTool({ name: "test_input_required_result_multiple_inputs", arguments: {} });
    const text = JSON.stringify(result);
    for (const part of ["Ada", "Hello", "file:///home"]) expect(text).toContain(part);
  } finally {
    await client.close();
  }
});
