import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { jsonBody, nested, startTarget, type Target } from "./target.ts";

let target: Target;

beforeAll(async () => {
  target = await startTarget();
});

afterAll(async () => {
  await target?.close();
});

const COLLECTION = "/api/v1/mcp-servers";
const CREATE = "/patchbay.v1.ConnectionService/CreateConnection";
const UPDATE = "/patchbay.v1.ConnectionService/UpdateConnection";
const URL_OF_SOME_SERVER = "https://mcp.example.com/mcp";

const good = { server_type: "mcp", configuration: { url: URL_OF_SOME_SERVER } };

/** Bodies that are not a JSON object, with the error text. */
const NO_OBJECT: readonly [string, string | Uint8Array][] = [
  ["nothing", ""],
  ["a half object", '{"server_type":'],
  ["two objects", "{}{}"],
  ["a trailing comma", '{"name":"a",}'],
  ["single quotes", "{'name':'a'}"],
  ["a comment", '{"name":"a"/* no */}'],
  ["NaN", '{"limit":NaN}'],
  ["a list", "[]"],
  ["a text", '"mcp"'],
  ["null", "null"],
  ["a number", "7"],
  ["a form", "server_type=mcp"],
  ["XML", "<a/>"],
  ["bytes that are no UTF-8", Uint8Array.of(0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d)],
  ["a byte order mark alone", "\ufeff"],
];

describe.each(NO_OBJECT)("a body that is %s", (_, body) => {
  test("creates nothing", () =>
    target.refuses({ method: "POST", path: COLLECTION, headers: ["content-type", "application/json"], body }, 400));
  test("changes nothing", () =>
    target.refuses(
      { method: "PUT", path: `${COLLECTION}/${target.id}`, headers: ["content-type", "application/json"], body },
      400,
    ));
  test("creates nothing over Connect", () =>
    target.refusesConnect(
      { method: "POST", path: CREATE, headers: ["content-type", "application/json"], body },
      400,
      "invalid_argument",
    ));
});

/** Values of a wrong type, by field of creations and updates. */
const WRONG_CREATE: readonly [string, JsonObject | string][] = [
  ["server_type", { ...good, server_type: 7 }],
  ["server_type", { ...good, server_type: ["mcp"] }],
  ["server_type", { configuration: good.configuration }],
  ["server_type", { ...good, server_type: null }],
  ["name", { ...good, name: 7 }],
  ["name", { ...good, name: {} }],
  ["name", { ...good, name: true }],
  ["name", { ...good, name: " \t " }],
  ["name", { ...good, name: "a\nb" }],
  ["description", { ...good, description: ["a"] }],
  ["configuration", { ...good, configuration: "url" }],
  ["configuration", { ...good, configuration: [] }],
  ["configuration", { ...good, configuration: 0 }],
  ["url", { ...good, configuration: { url: null } }],
  ["url", { ...good, configuration: { url: "not an address" } }],
  ["url", { ...good, configuration: { url: "file:///etc/passwd" } }],
  ["url", { ...good, configuration: { url: "http://127.0.0.1:1/mcp" } }],
  ["url", { ...good, configuration: { url: "http://[::1]/mcp" } }],
  ["url", { ...good, configuration: { url: "http://user:password@mcp.example.com/" } }],
  ["headers", { ...good, configuration: { ...good.configuration, headers: { Host: "evil.example" } } }],
  ["headers", { ...good, configuration: { ...good.configuration, headers: { authorization: "Bearer x" } } }],
  ["headers", { ...good, configuration: { ...good.configuration, headers: { "x-a": "b\r\nx-c: d" } } }],
  ["headers", { ...good, configuration: { ...good.configuration, headers: { "x a": "b" } } }],
  ["headers", { ...good, configuration: { ...good.configuration, headers: { "x-a": 1 } } }],
  ["access_type", { ...good, access_type: 1 }],
  ["Invalid access type specified", { ...good, access_type: "READ" }],
  ["color", { ...good, color: "red" }],
  ["id", { ...good, id: 7 }],
  ["success", { ...good, success: true }],
  ["company_domain", { server_type: "bamboohr", configuration: { api_token: "k" } }],
  ["company_domain", { server_type: "bamboohr", configuration: { company_domain: "a.b", api_token: "k" } }],
  ["company_domain", { server_type: "bamboohr", configuration: { company_domain: "a@evil", api_token: "k" } }],
  ["company_domain", { server_type: "bamboohr", configuration: { company_domain: "", api_token: "k" } }],
  ["twice", '{"server_type":"mcp","server_type":"mcp","configuration":{}}'],
  ["__proto__", '{"server_type":"mcp","__proto__":{"name":"a"},"configuration":{"url":"https://mcp.example.com/mcp"}}'],
  [
    "__proto__",
    '{"server_type":"mcp","configuration":{"url":"https://mcp.example.com/mcp","__proto__":{"api_token":"a"}}}',
  ],
  ["constructor", { ...good, constructor: { prototype: {} } } as JsonObject],
  ["NUL", { ...good, name: "a\0b" }],
  ["NUL", { ...good, description: "a\0b" }],
  ["NUL", { ...good, server_type: "mcp\0" }],
  ["NUL", { ...good, configuration: { url: `${URL_OF_SOME_SERVER}\0` } }],
  ["NUL", { ...good, configuration: { ...good.configuration, "a\0": "b" } }],
  ["name", '{"server_type":"mcp","name":"\\ud800","configuration":{"url":"https://mcp.example.com/mcp"}}'],
  [
    "description",
    '{"server_type":"mcp","description":"a\\udc00b","configuration":{"url":"https://mcp.example.com/mcp"}}',
  ],
  ["configuration", '{"server_type":"mcp","configuration":{"url":"https://mcp.example.com/\\ud800"}}'],
  ["name", { ...good, name: "n".repeat(256) }],
  ["description", { ...good, description: "d".repeat(2001) }],
  [
    "configuration",
    {
      ...good,
      configuration: {
        ...good.configuration,
        headers: Object.fromEntries(Array.from({ length: 20 }, (_, index) => [`x-${index}`, "v".repeat(4000)])),
      },
    },
  ],
  [
    "headers",
    {
      ...good,
      configuration: {
        ...good.configuration,
        headers: Object.fromEntries(Array.from({ length: 21 }, (_, index) => [`x-${index}`, "v"])),
      },
    },
  ],
  ["32 levels", `{"server_type":"mcp","configuration":${nested(32)}}`],
  ["32 levels", `{"server_type":"mcp","configuration":${nested(100)}}`],
  ["32 levels", nested(100)],
  ["32 levels", `${"[".repeat(100)}${"]".repeat(100)}`],
  ["32 levels", nested(100_000)],
];

test.each(WRONG_CREATE)("rejects a creation and names the problem for %s: %j", async (word, body) => {
  await target.refuses({ method: "POST", path: COLLECTION, ...jsonBody(body) }, 400, new RegExp(word));
});

const WRONG_UPDATE: readonly [string, JsonObject | string][] = [
  ["agent_enabled", { agent_enabled: "true" }],
  ["agent_enabled", { agent_enabled: 1 }],
  ["access_type", { access_type: ["read"] }],
  ["Invalid access type specified", { access_type: "admin" }],
  ["api_key", { api_key: 7 }],
  ["api_key", { api_key: "" }],
  ["api_key", { api_key: "k".repeat(4097) }],
  ["api_key", { api_key: "a\0" }],
  ["connection_id", { connection_id: 1 }],
  ["connection_id", { connection_id: "999999" }],
  ["connection_id", { connection_id: "01" }],
  ["name", { name: "" }],
  ["name", { name: "n".repeat(256) }],
  ["oauth2_client_secret", { oauth2_client_secret: "short" }],
  ["oauth2_client_secret", { oauth2_client_secret: "s".repeat(129) }],
  ["oauth2_client_secret", { oauth2_client_secret: `${"s".repeat(40)} ` }],
  ["config", { config: "url" }],
  ["color", { config: { color: "red" } }],
  ["api_token|url", { config: { url: "http://10.0.0.1/mcp", api_token: "k" } }],
  ["disabled_tools", { disabled_tools: "1" }],
  ["disabled_tools", { disabled_tools: ["1"] }],
  ["disabled_tools", { disabled_tools: [1.5] }],
  ["disabled_tools", { disabled_tools: [null] }],
  ["disabled_tools", { disabled_tools: [-1] }],
  ["disabled_tools", { disabled_tools: [2147483648] }],
  ["disabled_tools", '{"disabled_tools":[9007199254740993]}'],
  ["disabled_tools", '{"disabled_tools":[1e999]}'],
  ["disabled_tools", { disabled_tools: [2000000000] }],
  ["server_id", { server_id: "1" }],
  ["view", { view: "detailed" }],
  ["update_mask", { update_mask: "name" }],
  ["agentEnabled", { agentEnabled: false }],
  ["server_type", { server_type: "mcp" }],
  ["id", { name: "Renamed", id: 7 }],
  ["__proto__", '{"__proto__":{"agent_enabled":false}}'],
  ["__proto__", '{"config":{"__proto__":{"url":"https://evil.example/"}}}'],
  ["name", '{"name":"\\udfff"}'],
  ["32 levels", `{"config":${nested(60)}}`],
];

test.each(WRONG_UPDATE)("rejects an update and names the problem for %s: %j", async (word, body) => {
  await target.refuses({ method: "PUT", path: `${COLLECTION}/${target.id}`, ...jsonBody(body) }, 400, new RegExp(word));
});

/** Values that Connect rejects as well; it ignores unknown fields (DESIGN §6). */
const WRONG_CONNECT: readonly [string, JsonObject | string][] = [
  ["a name of a wrong type", { ...good, name: 7 }],
  ["a missing server_type", { configuration: good.configuration }],
  ["an unknown server_type", { ...good, server_type: "nothing" }],
  ["NUL in a name", { ...good, name: "a\0b" }],
  ["a lone surrogate", '{"server_type":"mcp","name":"\\ud800","configuration":{"url":"https://mcp.example.com/mcp"}}'],
  [
    "a __proto__ key",
    '{"server_type":"mcp","configuration":{"url":"https://mcp.example.com/mcp","__proto__":{"a":"b"}}}',
  ],
  ["100 levels", `{"server_type":"mcp","configuration":${nested(100)}}`],
  ["100,000 levels", `{"server_type":"mcp","configuration":${nested(100_000)}}`],
  ["a configuration that is a list", { ...good, configuration: [] }],
  [
    "an integer beyond 2^53",
    '{"server_type":"mcp","configuration":{"url":"https://mcp.example.com/mcp","a":9007199254740994}}',
  ],
  ["a private address", { ...good, configuration: { url: "http://192.168.0.1/mcp" } }],
];

test.each(WRONG_CONNECT)("rejects a creation over Connect with %s", async (_, body) => {
  await target.refusesConnect({ method: "POST", path: CREATE, ...jsonBody(body) }, 400, "invalid_argument");
});

test.each([
  ["a wrong type", { agent_enabled: "yes" }],
  ["an id of a tool beyond int32", { disabled_tools: [4294967296] }],
  ["no field to change", {}],
  ["an empty list without a field mask", { disabled_tools: [] }],
  ["a field mask with an unknown field", { name: "Renamed", update_mask: "createdAt" }],
  ["a field mask with a field that is not supplied", { update_mask: "name" }],
  ["an unknown access_type", { access_type: "all" }],
])("rejects an update over Connect with %s", async (_, body) => {
  await target.refusesConnect(
    { method: "POST", path: UPDATE, ...jsonBody({ ...body, server_id: target.id } as JsonObject) },
    400,
    "invalid_argument",
  );
});

describe("size limits", () => {
  const big = (bytes: number): string => `{"server_type":"mcp","name":"${"n".repeat(bytes - 32)}"}`;

  test.each([
    ["over REST", COLLECTION, 413],
    ["over Connect", CREATE, 429],
  ])("reject a body of more than 1 MiB %s", async (_, path, status) => {
    const request = { method: "POST", path, ...jsonBody(big(1024 * 1024 + 100)) };
    if (status === 413) await target.refuses(request, 413, /larger than 1048576 bytes/);
    else await target.refusesConnect(request, 429, "resource_exhausted");
  });

  test.each(["/mcp/initialize", "/mcp/tools/call"])("reject a body of more than 4 MiB at %s", async (path) => {
    const body = jsonBody(`{"name":"${"n".repeat(4 * 1024 * 1024)}"}`);
    const headers = [...(body.headers ?? []), "x-session-id", target.session];
    await target.refuses({ method: "POST", path, ...body, headers }, 413);
  });

  test("accept a body of 2 MiB in the runtime", async () => {
    const body = jsonBody({ name: "look_up", arguments: { text: "t".repeat(2 * 1024 * 1024) } });
    const headers = [...(body.headers ?? []), "x-session-id", target.session];
    const answer = await target.send({ method: "POST", path: "/mcp/tools/call", ...body, headers });
    expect(answer.status).toBe(200);
  });

  const bomb = gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20));

  test("reject a gzip bomb over REST", async () => {
    const headers = ["content-type", "application/json", "content-encoding", "gzip"];
    await target.refuses({ method: "POST", path: COLLECTION, headers, body: bomb }, 413);
  });

  test("reject a gzip bomb over Connect", async () => {
    const headers = ["content-type", "application/json", "content-encoding", "gzip"];
    await target.refusesConnect({ method: "POST", path: CREATE, headers, body: bomb }, 429, "resource_exhausted");
  });

  test("reject a body declared as gzip that is not gzip", async () => {
    const headers = ["content-type", "application/json", "content-encoding", "gzip"];
    await target.refuses({ method: "POST", path: COLLECTION, headers, body: "{}" }, 400, /gzip/);
  });

  test("accept a gzip body", async () => {
    const headers = ["content-type", "application/json", "content-encoding", "gzip"];
    const answer = await target.send({
      method: "PUT",
      path: `${COLLECTION}/${target.id}`,
      headers,
      body: gzipSync("{}"),
    });
    expect(answer.status).toBe(200);
  });
});
