import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { jsonBody, MAX_CONNECTIONS, startTarget, type Target } from "./target.ts";

let target: Target;

beforeAll(async () => {
  target = await startTarget();
});

afterAll(async () => {
  await target?.close();
});

const COLLECTION = "/api/v1/mcp-servers";

/** Path segments that no connection can have. */
const NO_ID = [
  ...["abc", "-1", "+1", "0", "00", "1e3", "1.0", "0x1", "99999999999999999999", "2147483648", "1%20or%201=1"],
  ...["1'--", "..%2f..", "..%2F..%2Fetc%2Fpasswd", "%2e%2e", "1%0a", "null", "undefined", "NaN", "Infinity"],
  ...[
    "__proto__",
    "constructor",
    "toString",
    "%E2%80%AE1",
    "%F0%9F%92%A5",
    "١",
    "1;drop",
    "*",
    "true",
    "9".repeat(300),
  ],
].map((segment) => encodeURI(decodeURI(segment.replaceAll("%", "%25"))).replaceAll("%25", "%"));

describe.each(NO_ID)("the id %s", (segment) => {
  test.each(["GET", "PUT", "DELETE"])("returns 404 for %s", async (method) => {
    const body = method === "PUT" ? jsonBody({ name: "Renamed" }) : {};
    await target.refuses(
      { method, path: `${COLLECTION}/${segment}`, ...body },
      404,
      /^MCP server .{0,64} not found or not accessible$/,
    );
  });
  test("has no tools", () =>
    target.refuses(
      { method: "GET", path: `${COLLECTION}/${segment}/tools` },
      404,
      /^MCP server connection not found$/,
    ));
});

test.each(["%00", "1%00", "%31%00"])("returns 404 for an id with NUL, %s", (segment) =>
  target.refuses(
    { method: "DELETE", path: `${COLLECTION}/${segment}` },
    404,
    /^MCP server 1?\? not found or not accessible$/,
  ),
);

test.each([
  `${COLLECTION}/../mcp-servers/1`,
  `${COLLECTION}/./1`,
  `${COLLECTION}/`,
  `${COLLECTION}//`,
  `${COLLECTION}/1/`,
  `${COLLECTION}//tools`,
  `${COLLECTION}/1/tools/..`,
  `/${COLLECTION}`,
  "/api/v1/MCP-SERVERS",
  "/API/v1/mcp-servers",
  "/api/v2/mcp-servers",
  "/../../etc/passwd",
  "/%2e%2e/%2e%2e/etc/passwd",
  "/patchbay.v1.ConnectionService/Nothing",
  "/patchbay.v1.Nothing/ListConnections",
])("returns 404 for the path %s", async (path) => {
  const answer = await target.send({ method: "GET", path });
  expect([path, answer.status]).toEqual([path, 404]);
  expect(answer.json).toEqual({ detail: expect.any(String), code: expect.any(String) });
});

test.each([`${COLLECTION}/%ff`, `${COLLECTION}/%`, `${COLLECTION}/%zz`, `${COLLECTION}/%C0%AF`])(
  "rejects the invalid encoding of %s",
  async (path) => {
    const answer = await target.send({ method: "GET", path });
    expect([400, 404]).toContain(answer.status);
    expect(answer.json).toEqual({ detail: expect.any(String), code: expect.any(String) });
  },
);

test.each([
  ["PATCH", COLLECTION, "GET, HEAD, OPTIONS, POST"],
  ["DELETE", COLLECTION, "GET, HEAD, OPTIONS, POST"],
  ["POST", `${COLLECTION}/1`, "GET, HEAD, OPTIONS, PUT, DELETE"],
  ["PATCH", `${COLLECTION}/1`, "GET, HEAD, OPTIONS, PUT, DELETE"],
  ["POST", `${COLLECTION}/1/tools`, "GET, HEAD, OPTIONS"],
  ["GET", "/mcp/initialize", "OPTIONS, POST"],
  ["PUT", "/mcp/tools/call", "OPTIONS, POST"],
])("%s %s returns 405 with the allowed methods", async (method, path, allow) => {
  const answer = await target.send({ method, path });
  expect(answer.status).toBe(405);
  expect(String(answer.headers.allow).split(", ").toSorted()).toEqual(allow.split(", ").toSorted());
  expect(answer.json).toEqual({ detail: expect.any(String), code: expect.any(String) });
});

test.each([
  ["limit=0", /limit/],
  ["limit=501", /limit/],
  ["limit=-1", /limit/],
  ["limit=abc", /limit/],
  ["limit=1e2", /limit/],
  ["limit=1.5", /limit/],
  ["limit=", /limit/],
  ["limit=99999999999999999999", /limit/],
  ["limit=9007199254740993", /limit/],
  ["limit=1&limit=2", /limit/],
  ["offset=-1", /offset/],
  ["offset=2147483648", /offset/],
  ["offset=%00", /offset/],
  ["color=red", /color/],
  ["__proto__=1", /__proto__/],
  ["Limit=1", /Limit/],
  ["limit[]=1", /limit\[\]/],
  ["%ff=1", /query/],
])("rejects the query %s", async (query, detail) => {
  await target.refuses({ method: "GET", path: `${COLLECTION}?${query}` }, 400, detail);
});

test.each(["view=full", "view=", "view=DETAILED", "view=detailed&view=default"])(
  "rejects the query %s of a deletion and deletes nothing",
  (query) => target.refuses({ method: "DELETE", path: `${COLLECTION}/${target.id}?${query}` }, 400, /view/),
);

test("rejects headers of more than 16 KiB", async () => {
  const answer = await target.send({ method: "GET", path: COLLECTION, headers: ["x-long", "x".repeat(20_000)] });
  expect([answer.status, answer.json]).toEqual([431, { detail: expect.any(String), code: "HEADERS_TOO_LARGE" }]);
});

test("rejects two Authorization headers, even if one is valid", async () => {
  for (const [first, second] of [
    [target.token, target.token],
    [target.token, "wrong"],
    ["wrong", target.token],
  ]) {
    const headers = ["authorization", `Bearer ${String(first)}`, "Authorization", `Bearer ${String(second)}`];
    await target.refuses({ method: "GET", path: COLLECTION, headers }, 400);
    const rpc = [...headers, "content-type", "application/json"];
    await target.refuses(
      { method: "POST", path: "/patchbay.v1.ConnectionService/ListConnections", headers: rpc, body: "{}" },
      400,
    );
  }
});

test("limits the number of connections of an account", async () => {
  const account = await target.accounts.create();
  const headers = ["authorization", `Bearer ${await account.token()}`, "content-type", "application/json"];
  const body = JSON.stringify({ server_type: "bamboohr", configuration: { company_domain: "acme" } });
  const create = { method: "POST", path: COLLECTION, headers, body };
  const answers = await Promise.all(Array.from({ length: MAX_CONNECTIONS + 5 }, () => target.send(create)));
  expect(answers.map(({ status }) => status).toSorted()).toEqual([
    ...Array<number>(MAX_CONNECTIONS).fill(201),
    ...Array<number>(5).fill(429),
  ]);
  await target.refuses(create, 429, /at most 3 connections/);
});

describe("the runtime", () => {
  const call = (body: string, session: readonly string[] = ["x-session-id", target.session]) => ({
    method: "POST",
    path: "/mcp/tools/call",
    headers: ["content-type", "application/json", ...session],
    body,
  });

  test.each([
    ["a body that is not JSON", "{"],
    ["a list", "[]"],
    ["a name of a wrong type", '{"name":7}'],
    ["a missing name", "{}"],
    ["arguments that are a list", '{"name":"look_up","arguments":[]}'],
    ["arguments that are a string", '{"name":"look_up","arguments":"{}"}'],
    ["NUL in an argument", '{"name":"look_up","arguments":{"text":"a\\u0000"}}'],
    ["a lone surrogate in an argument", '{"name":"look_up","arguments":{"text":"\\ud800"}}'],
    ["a __proto__ argument", '{"name":"look_up","arguments":{"__proto__":{}}}'],
    ["100 levels", `{"name":"look_up","arguments":{"text":${"[".repeat(100)}${"]".repeat(100)}}}`],
  ])("rejects a call with %s", (_, body) => target.refuses(call(body), 400));

  test.each([
    ["a missing session", [], 400],
    ["an empty session", ["x-session-id", ""], 400],
    ["an unknown session", ["x-session-id", "A".repeat(32)], 404],
    ["two sessions", ["x-session-id", "A".repeat(32), "x-session-id", "B".repeat(32)], 404],
    ["a session of 4,000 characters", ["x-session-id", "A".repeat(4000)], 404],
    ["SQL as session id", ["x-session-id", "' or ''='"], 404],
  ])("rejects a call with %s", (_, session, status) => target.refuses(call('{"name":"look_up"}', session), status));
});

describe("content types", () => {
  test.each([
    "text/plain",
    "application/xml",
    "application/x-www-form-urlencoded",
    "multipart/form-data",
    "application/json; charset=utf-16",
    "application/jsonp",
    "",
  ])("return 415 for a body of type %j", async (type) => {
    const headers = type === "" ? [] : ["content-type", type];
    await target.refuses({ method: "POST", path: COLLECTION, headers, body: "{}" }, 415, /application\/json/);
  });

  test("return 415 for an unknown encoding", async () => {
    const headers = ["content-type", "application/json", "content-encoding", "br"];
    await target.refuses({ method: "POST", path: COLLECTION, headers, body: "{}" }, 415);
  });

  test("are ignored without a body", async () => {
    const answer = await target.send({ method: "GET", path: COLLECTION, headers: ["content-type", "text/plain"] });
    expect(answer.status).toBe(200);
  });
});

test("the service still responds normally after all bad requests", async () => {
  const answer = await target.send({ method: "GET", path: `${COLLECTION}/${target.id}` });
  expect([answer.status, answer.json]).toEqual([
    200,
    { success: true, data: expect.objectContaining({ mcp_server_name: "Handbook" }) },
  ]);
  expect(target.service.output()).not.toMatch(/"level":(50|60)|unhandled/i);
});
