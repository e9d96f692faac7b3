import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Prism, startPrismProxy } from "../support/prism.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let account: TestAccount;
let prism: Prism;
let token: string;
/** The calls made, to check at the end that every documented operation was called. */
const seen: string[] = [];

beforeAll(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  [accounts, prism] = await Promise.all([
    openAccounts(service.env),
    startPrismProxy("openapi/patchbay.yaml", service.url),
  ]);
  account = await accounts.create();
  token = await account.token();
});

afterAll(async () => {
  await prism?.stop();
  await service?.stop();
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

interface Sent {
  readonly body?: JsonValue;
  readonly headers?: Readonly<Record<string, string>>;
  /** The bearer token; null for none. */
  readonly bearer?: string | null;
}

/** Calls through Prism and expects this status without a contract violation. */
async function through(method: string, path: string, status: number, sent: Sent = {}): Promise<JsonObject> {
  const { body, headers = {}, bearer = token } = sent;
  const response = await fetch(prism.url + path, {
    method,
    headers: {
      ...(bearer !== null && { authorization: `Bearer ${bearer}` }),
      ...(body !== undefined && { "content-type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  // With --errors Prism returns a problem document for a violation.
  expect([
    method,
    path,
    response.headers.get("sl-violations"),
    response.headers.get("content-type"),
    text.slice(0, 600),
  ]).toEqual([method, path, null, expect.not.stringContaining("problem+json"), expect.anything()]);
  expect([method, path, response.status, text.slice(0, 300)]).toEqual([method, path, status, expect.anything()]);
  seen.push(`${method} ${path.replace(/\?.*$/, "").replace(/\/\d+(?=\/|$)/, "/{server_id}")} ${status}`);
  return text === "" ? {} : (Object(JSON.parse(text)) as JsonObject);
}

const COLLECTION = "/api/v1/mcp-servers";
const DETAIL = { detail: expect.any(String), code: expect.any(String) };
/** A 400 also names the field. */
const INVALID = { ...DETAIL, field: expect.any(String) };

test("a complete scenario between a client and the service does not violate the contract", async () => {
  expect(await through("GET", COLLECTION, 200)).toEqual({ success: true, data: [] });
  const { server_id: id } = await through("POST", COLLECTION, 201, {
    body: { server_type: "mcp", name: "Handbook", access_type: "individual", configuration: { url: upstream.url } },
  });
  const one = `${COLLECTION}/${String(id)}`;
  await until(async () => {
    const { data } = await through("GET", one, 200);
    return (data as JsonObject)["api_key_verification_status"] === "verified";
  });
  await through("GET", `${COLLECTION}?limit=1&offset=0`, 200);
  await through("GET", `${one}?view=detailed`, 200);
  await through("GET", `${one}?view=default`, 200);

  await through("PUT", one, 200, { body: { name: "Renamed", access_type: "write", agent_enabled: true } });
  await through("PUT", `${one}?view=detailed`, 200, { body: { description: "The docs team's." } });
  await through("PUT", one, 200, { body: { connection_id: String(id), config: { headers: { "x-tenant": "acme" } } } });
  await until(
    async () => ((await through("GET", one, 200))["data"] as JsonObject)["api_key_verification_status"] === "verified",
  );
  const listed = await until(async () => {
    const { data } = await through("GET", `${one}/tools`, 200);
    const { tools } = data as { tools: JsonObject[] };
    return tools.length === 3 && tools;
  });
  await through("GET", `${one}/tools?limit=1&offset=1`, 200);
  await through("PUT", one, 200, { body: { disabled_tools: [Number(listed[0]?.["id"])] } });
  await through("GET", `${one}/tools?include_disabled=true`, 200);
  await through("PUT", one, 200, { body: { disabled_tools: [] } });

  const { sessionId } = await through("POST", "/mcp/initialize", 200, {
    body: {
      protocolVersion: "2025-03-26",
      capabilities: { tools: {}, resources: {} },
      clientInfo: { name: "acme", version: "1.0" },
    },
  });
  const headers = { "x-session-id": String(sessionId) };
  await through("POST", "/mcp/tools/list", 200, { headers, body: {} });
  const called = await through("POST", "/mcp/tools/call", 200, {
    headers,
    body: { name: "look_up", arguments: { text: "a" } },
  });
  expect(called["isError"]).toBe(false);
  upstream.onCall = () => ({
    content: [
      { type: "text", text: "a" },
      { type: "image", data: "AAAA", mimeType: "image/png" },
      { type: "resource", resource: { uri: "a://b", text: "c" } },
    ],
    structuredContent: { a: [1, { b: null }] },
    isError: true,
  });
  const whole = await through("POST", "/mcp/tools/call", 200, { headers, body: { name: "look_up" } });
  expect(whole).toMatchObject({ isError: true, structuredContent: { a: [1, { b: null }] } });
  await through("POST", "/mcp/tools/call", 200, { headers, body: { name: "look_up", arguments: { count: "many" } } });

  expect(await through("DELETE", one, 200)).toEqual({ success: true, data: null, message: "MCP server deleted" });
  const { server_id: second } = await through("POST", COLLECTION, 201, {
    body: { server_type: "bamboohr", configuration: { company_domain: "acme" } },
  });
  await through("GET", `${COLLECTION}/${String(second)}/tools`, 200);
  expect(await through("DELETE", `${COLLECTION}/${String(second)}?view=detailed`, 200)).toEqual({
    message: "MCP server deleted",
  });
});

test("every error matches the contract", async () => {
  const { server_id: id } = await through("POST", COLLECTION, 201, {
    body: { server_type: "mcp", configuration: { url: upstream.url } },
  });
  const one = `${COLLECTION}/${String(id)}`;
  const { sessionId } = await through("POST", "/mcp/initialize", 200, { body: {} });
  const headers = { "x-session-id": String(sessionId) };

  // The client knows unknown server types, so the contract allows them.
  expect(await through("POST", COLLECTION, 400, { body: { server_type: "nothing", configuration: {} } })).toEqual(
    INVALID,
  );
  expect(await through("POST", COLLECTION, 400, { body: { server_type: "mcp", configuration: {} } })).toEqual(INVALID);
  expect(await through("PUT", one, 400, { body: { connection_id: "999999" } })).toEqual(INVALID);
  expect(await through("POST", "/mcp/tools/list", 400, { headers, body: { cursor: "nonsense" } })).toEqual(INVALID);

  const wrong = "eyJhbGciOiJub25lIn0.e30.x";
  const everything: readonly [string, string, JsonValue?][] = [
    ["GET", COLLECTION],
    ["POST", COLLECTION, { server_type: "mcp", configuration: { url: upstream.url } }],
    ["GET", one],
    ["PUT", one, { name: "a" }],
    ["DELETE", one],
    ["GET", `${one}/tools`],
    ["POST", "/mcp/initialize", {}],
    ["POST", "/mcp/tools/list", {}],
    ["POST", "/mcp/tools/call", { name: "look_up" }],
  ];
  const forged = await accounts.forge(account, { scopes: [] });
  for (const [method, path, body] of everything) {
    const sent = { headers, ...(body !== undefined && { body }) };
    expect(await through(method, path, 401, { ...sent, bearer: wrong })).toEqual({
      detail: "Invalid or expired token.",
      code: "CREDENTIALS_INVALID",
    });
    expect(await through(method, path, 403, { ...sent, bearer: forged })).toEqual(DETAIL);
  }
  const missing = `${COLLECTION}/2147483647`;
  for (const [method, path, body] of [
    ["GET", missing],
    ["PUT", missing, { name: "a" }],
    ["DELETE", missing],
    ["GET", `${missing}/tools`],
  ] as const) {
    expect(await through(method, path, 404, body === undefined ? {} : { body })).toEqual(DETAIL);
  }
  const foreign = { "x-session-id": "A".repeat(32) };
  expect(await through("POST", "/mcp/tools/list", 404, { headers: foreign, body: {} })).toEqual(DETAIL);
  expect(await through("POST", "/mcp/tools/call", 404, { headers: foreign, body: { name: "look_up" } })).toEqual(
    DETAIL,
  );
  expect(await through("POST", "/mcp/tools/call", 404, { headers, body: { name: "no_such_tool" } })).toEqual(DETAIL);
  await through("DELETE", one, 200);
});

test("tokens, keys, metadata and health match the contract", async () => {
  const { clientId, clientSecret } = await account.client("mgmt.read mgmt.write");
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const basic = (secret: string) => ({ ...form, authorization: `Basic ${btoa(`${clientId}:${secret}`)}` });
  const ask = async (headers: Record<string, string>, body: string): Promise<[number, string | null, JsonObject]> => {
    const response = await fetch(`${prism.url}/oauth2/token`, { method: "POST", headers, body });
    return [response.status, response.headers.get("sl-violations"), (await response.json()) as JsonObject];
  };
  const granted = {
    access_token: expect.stringMatching(/^[\w-]+\.[\w-]+\.[\w-]+$/),
    token_type: "Bearer",
    expires_in: 3600,
    scope: "mgmt.read mgmt.write",
  };
  expect(await ask(basic(clientSecret), "grant_type=client_credentials&scope=mgmt.read+mgmt.write")).toEqual([
    200,
    null,
    granted,
  ]);
  const refused = { error: expect.any(String), error_description: expect.any(String) };
  expect(await ask(basic(clientSecret), "grant_type=client_credentials&scope=mgmt.admin")).toEqual([
    400,
    null,
    refused,
  ]);
  expect(await ask(basic("wrong"), "grant_type=client_credentials")).toEqual([401, null, refused]);
  for (const path of ["/.well-known/jwks.json", "/.well-known/oauth-authorization-server", "/healthz", "/readyz"]) {
    await through("GET", path, 200, { bearer: null });
  }
});

test("Prism detects a violation", async () => {
  const response = await fetch(`${prism.url}${COLLECTION}`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ server_type: 7 }),
  });
  expect([response.status, response.headers.get("content-type")]).toEqual([422, "application/problem+json"]);
});

test("the scenarios cover every status that a caller can cause", () => {
  for (const wanted of [
    ...[
      "POST /api/v1/mcp-servers 201",
      "GET /api/v1/mcp-servers/{server_id} 404",
      "PUT /api/v1/mcp-servers/{server_id} 400",
    ],
    ...[
      "DELETE /api/v1/mcp-servers/{server_id} 200",
      "GET /api/v1/mcp-servers/{server_id}/tools 403",
      "POST /mcp/tools/call 404",
    ],
  ]) {
    expect(seen).toContain(wanted);
  }
});
