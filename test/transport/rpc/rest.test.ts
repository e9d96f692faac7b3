import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startStandIn, type Running } from "../support/stand-in.ts";
import { sendRaw } from "../support/raw.ts";

const AUTH = "Bearer mgmt.read,mgmt.write";
const JSON_TYPE = "application/json";
const LIST = "/api/v1/mcp-servers";
const ONE = `${LIST}/7`;

let server: Running;

beforeAll(async () => {
  server = await startStandIn();
});

afterAll(async () => {
  await server.stop();
});

beforeEach(() => {
  server.seen.requests.length = 0;
});

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly detail: unknown;
}

async function send(method: string, path: string, init: RequestInit = {}): Promise<Answer> {
  const response = await fetch(`${server.url}${path}`, {
    ...init,
    method,
    headers: { authorization: AUTH, ...init.headers },
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    text,
    detail: text.startsWith('{"detail"') ? JSON.parse(text).detail : undefined,
  };
}

function sendJson(
  method: string,
  path: string,
  body: string | Uint8Array<ArrayBuffer>,
  type = JSON_TYPE,
): Promise<Answer> {
  return send(method, path, { body, headers: { "content-type": type } });
}

describe("REST responses", () => {
  test("JSON contains empty lists, false and zero, and omits unset optional fields", async () => {
    expect((await send("GET", LIST)).text).toBe('{"success":true,"data":[]}');
    expect((await send("GET", `${ONE}/tools`)).text).toBe(
      '{"success":true,"data":{"tools":[],"total_count":0,"mcp_server_id":7}}',
    );
    const [connection] = JSON.parse((await send("GET", `${LIST}?limit=1`)).text).data;
    expect(connection).toMatchObject({ agent_enabled: false, disabled_tools: [], mcp_server_name: "Zoë" });
  });

  test("the response to a deletion has data null", async () => {
    expect((await send("DELETE", ONE)).text).toBe('{"success":true,"data":null,"message":"MCP server deleted"}');
  });

  test("a creation returns 201 with a Location header", async () => {
    const answer = await sendJson("POST", LIST, '{"server_type":"mcp"}');
    expect(answer.status).toBe(201);
    expect(answer.headers.get("location")).toBe("/api/v1/mcp-servers/7");
  });

  test("every JSON response has no-store, nosniff and a Content-Length header", async () => {
    for (const path of [LIST, "/nowhere", `${LIST}/404`]) {
      const { headers } = await send("GET", path);
      expect(headers.get("content-type")).toBe(JSON_TYPE);
      expect(headers.get("cache-control")).toBe("no-store");
      expect(headers.get("x-content-type-options")).toBe("nosniff");
      expect(headers.get("content-length")).not.toBeNull();
    }
  });

  test("HEAD returns the response of GET without a body", async () => {
    const answer = await send("HEAD", LIST);
    expect([answer.status, answer.text, answer.headers.get("content-length")]).toEqual([200, "", "26"]);
  });

  test.each([LIST, `${LIST}?limit=500`, ONE, `${ONE}/tools`, `${LIST}/404`, "/healthz", "/readyz"])(
    "HEAD %s returns the headers of GET",
    async (path) => {
      const headersOf = async (method: string) => {
        const { headers, status } = await send(method, path);
        return [
          status,
          ...[...headers].filter(([name]) => !["date", "ratelimit", "connection", "keep-alive"].includes(name)),
        ];
      };
      expect(await headersOf("HEAD")).toEqual(await headersOf("GET"));
    },
  );

  test("returns 304 without body, length and type if If-None-Match matches the ETag", async () => {
    const etag = (await send("GET", LIST)).headers.get("etag") ?? "";
    expect(etag).toMatch(/^W\/"[\w-]{22}"$/);
    for (const known of [etag, etag.slice(2), `"a", ${etag}`, "*"]) {
      const { status, text, headers } = await send("GET", LIST, { headers: { "if-none-match": known } });
      const told = ["etag", "content-length", "content-type", "cache-control"].map((name) => headers.get(name));
      expect([status, text, ...told]).toEqual([304, "", etag, null, null, "no-store"]);
    }
    const other = { headers: { "if-none-match": etag } };
    expect((await send("GET", `${LIST}?limit=1`, other)).status).toBe(200);
    expect((await send("GET", `${LIST}/404`, other)).status).toBe(404);
    expect((await send("DELETE", ONE, other)).headers.get("etag")).toBeNull();
  });

  test("integers beyond 2^53 keep every digit in requests and responses", async () => {
    const body =
      '{"name":"t","arguments":{"big":12345678901234567890,"neg":-9007199254740993,"deep":[{"n":1e400}],"small":5}}';
    const answer = await sendJson("POST", "/mcp/tools/call", body);
    expect(answer.text).toContain(
      '"structuredContent":{"big":12345678901234567890,"neg":-9007199254740993,"deep":[{"n":1e400}],"small":5}',
    );
  });
});

describe("REST paths", () => {
  test.each([
    "/API/v1/mcp-servers",
    "/api/v1/mcp-servers/",
    "/api/v1//mcp-servers",
    "/api/v1/mcp-servers/7/",
    "/nowhere",
    "/",
    "/api/v1/mcp-servers/%ff",
    "/api/v1/mcp-servers/%zz",
  ])("%s returns 404 with and without a token", async (path) => {
    const bare = await sendRaw(server.port, `GET ${path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
    expect(bare).toMatch(/^HTTP\/1\.1 404 [^]*\{"detail":"Not found\.","code":"ROUTE_NOT_FOUND"\}$/);
    const withToken = await sendRaw(
      server.port,
      `GET ${path} HTTP/1.1\r\nhost: a\r\nauthorization: ${AUTH}\r\nconnection: close\r\n\r\n`,
    );
    expect(withToken).toMatch(/^HTTP\/1\.1 404 [^]*\{"detail":"Not found\.","code":"ROUTE_NOT_FOUND"\}$/);
  });

  test("another method on a known path returns 405 with an Allow header", async () => {
    const answer = await send("PATCH", ONE);
    expect([answer.status, answer.detail, answer.headers.get("allow")]).toEqual([
      405,
      "Method not allowed.",
      "GET, HEAD, PUT, DELETE, OPTIONS",
    ]);
    expect((await send("DELETE", LIST)).headers.get("allow")).toBe("GET, HEAD, POST, OPTIONS");
    expect((await send("GET", "/mcp/initialize")).headers.get("allow")).toBe("POST, OPTIONS");
  });

  test("OPTIONS returns the methods of a path without a token, and 404 for an unknown path", async () => {
    const ask = (path: string) => fetch(server.url + path, { method: "OPTIONS" });
    const answer = await ask(ONE);
    expect([answer.status, answer.headers.get("allow"), await answer.text()]).toEqual([
      204,
      "GET, HEAD, PUT, DELETE, OPTIONS",
      "",
    ]);
    expect((await ask("/nowhere")).status).toBe(404);
  });

  test("a path segment is decoded once and reaches the handler complete", async () => {
    await send("GET", `${LIST}/${encodeURIComponent("1 or 1=1")}`);
    await send("GET", `${LIST}/a%252Fb`);
    await send("GET", `${LIST}/..%2F..%2Fetc%2Fpasswd`);
    expect(server.seen.requests.map((request) => Reflect.get(request, "serverId"))).toEqual([
      "1 or 1=1",
      "a%2Fb",
      "../../etc/passwd",
    ]);
  });
});

describe("REST queries", () => {
  test.each([
    ["limit=abc", "limit must be an integer."],
    ["limit=", "limit must be an integer."],
    ["limit", "limit must be an integer."],
    ["limit=1.5", "limit must be an integer."],
    ["limit=1e3", "limit must be an integer."],
    ["limit=99999999999999999999", "limit must be between -2147483648 and 2147483647."],
    ["limit=1&limit=2", "limit must be given once."],
    ["page=1", "page is not a known query parameter."],
    ["%00x=1", "?x is not a known query parameter."],
    ["limit=%ff", "The query string is not valid percent-encoded UTF-8."],
  ])("rejects the query ?%s", async (query, detail) => {
    expect(await send("GET", `${LIST}?${query}`)).toMatchObject({ status: 400, detail });
    expect(server.seen.requests).toEqual([]);
  });

  test("accepts only true and false for a boolean", async () => {
    expect(await send("GET", `${ONE}/tools?include_disabled=1`)).toMatchObject({
      status: 400,
      detail: "include_disabled must be true or false.",
    });
    await send("GET", `${ONE}/tools?include_disabled=true&limit=-5`);
    expect(server.seen.requests).toMatchObject([{ includeDisabled: true, limit: -5, serverId: "7" }]);
  });

  test("a query field is read only from the query, also when the request has a body", async () => {
    expect((await sendJson("PUT", `${ONE}?view=detailed`, "{}")).status).toBe(200);
    expect(server.seen.requests).toMatchObject([{ view: "detailed" }]);
    expect(await sendJson("PUT", ONE, '{"view":"detailed"}')).toMatchObject({
      status: 400,
      detail: "view belongs in the query.",
    });
    expect(await sendJson("PUT", `${ONE}?name=a`, "{}")).toMatchObject({
      status: 400,
      detail: "name is not a known query parameter.",
    });
  });
});

describe("REST bodies", () => {
  test.each([
    ["not json", "The request body is not valid JSON."],
    ['{"server_type":"mcp"', "The request body is not valid JSON."],
    ["[]", "The request body must be a JSON object."],
    ["null", "The request body must be a JSON object."],
    ["7", "The request body must be a JSON object."],
    ["12345678901234567890", "The request body must be a JSON object."],
    ['{"server_type":1}', "server_type must be a string."],
    ['{"server_type":["mcp"]}', "server_type must be a string."],
    ['{"configuration":[]}', "configuration must be an object."],
    ['{"configuration":"{}"}', "configuration must be an object."],
    ['{"configuration":12345678901234567890}', "configuration must be an object."],
    ['{"color":"red"}', "color is not a known field."],
    ['{"serverType":"mcp"}', "serverType is not a known field."],
    ['{"__proto__":{"a":1}}', "__proto__ is not a known field."],
    ['{"constructor":1}', "constructor is not a known field."],
    ['{"configuration":{"__proto__":{"a":1}}}', "configuration must not have a key named __proto__."],
    ['{"configuration":{"a":[{"\\u005f_proto__":1}]}}', "configuration must not have a key named __proto__."],
    ['{"name":"a\\u0000b"}', "name must not contain NUL characters."],
    ['{"name":"a\\ud800"}', "name must be valid Unicode text."],
    ['{"configuration":{"k\\udc00":1}}', "configuration must be valid Unicode text."],
    ['{"configuration":{"k":"\\u0000"}}', "configuration must not contain NUL characters."],
    ['{"name":"a","name":"b"}', 'The key "name" is given twice.'],
    ['{"configuration":{"a":1,"\\u0061":2}}', 'The key "a" is given twice.'],
    [`{"configuration":${'{"a":'.repeat(99)}1${"}".repeat(99)}}`, "The JSON is nested deeper than 32 levels."],
    [
      `{"configuration":{"a":${"[".repeat(100_000)}${"]".repeat(100_000)}}}`,
      "The JSON is nested deeper than 32 levels.",
    ],
  ])("rejects the body %.60s", async (body, detail) => {
    expect(await sendJson("POST", LIST, body)).toMatchObject({ status: 400, detail });
    expect(server.seen.requests).toEqual([]);
  });

  test.each([
    ['{"agent_enabled":"true"}', "agent_enabled must be a boolean."],
    ['{"agent_enabled":1}', "agent_enabled must be a boolean."],
    ['{"disabled_tools":5}', "disabled_tools must be a list."],
    ['{"disabled_tools":["5"]}', "disabled_tools[0] must be an integer."],
    ['{"disabled_tools":[1,1.5]}', "disabled_tools[1] must be an integer."],
    ['{"disabled_tools":[null]}', "disabled_tools[0] must be an integer."],
    ['{"disabled_tools":[2147483648]}', "disabled_tools[0] must be between -2147483648 and 2147483647."],
    ['{"disabled_tools":[99999999999999999999]}', "disabled_tools[0] must be between -2147483648 and 2147483647."],
    ['{"server_id":"8"}', "server_id belongs in the path."],
    ['{"update_mask":"name"}', "update_mask is derived from the keys of the body and cannot be sent."],
  ])("rejects an update with %s", async (body, detail) => {
    expect(await sendJson("PUT", ONE, body)).toMatchObject({ status: 400, detail });
    expect(server.seen.requests).toEqual([]);
  });

  test("an unknown field name in an error is truncated and contains no control characters", async () => {
    const { detail } = await sendJson("POST", LIST, JSON.stringify({ [`\u0007${"x".repeat(100)}`]: 1 }));
    expect(detail).toBe(`?${"x".repeat(63)} is not a known field.`);
  });

  test("accepts a body nested 32 levels deep", async () => {
    const body = `{"server_type":"m","configuration":${'{"a":'.repeat(30)}{}${"}".repeat(30)}}`;
    expect((await sendJson("POST", LIST, body)).status).toBe(201);
  });

  test("rejects invalid UTF-8", async () => {
    const body = new Uint8Array([...Buffer.from('{"name":"'), 0xff, ...Buffer.from('"}')]);
    expect(await sendJson("POST", LIST, body)).toMatchObject({
      status: 400,
      detail: "The request body is not valid UTF-8.",
    });
  });

  test("omits null values, and includes only supplied fields in the update mask", async () => {
    await sendJson("PUT", ONE, '{"name":null,"disabled_tools":[],"agent_enabled":false}');
    expect(server.seen.requests).toMatchObject([
      {
        serverId: "7",
        disabledTools: [],
        agentEnabled: false,
        updateMask: { paths: ["agent_enabled", "disabled_tools"] },
      },
    ]);
    expect(server.seen.requests[0]).not.toHaveProperty("name");
  });

  test("requires a body for management requests", async () => {
    expect(await send("PUT", ONE)).toMatchObject({ status: 400, detail: "A JSON body is required." });
    expect(await send("POST", LIST, { headers: { "content-type": JSON_TYPE } })).toMatchObject({ status: 400 });
  });

  test("accepts a missing body and unknown fields for runtime requests", async () => {
    const session = { "x-session-id": "s" };
    expect((await send("POST", "/mcp/tools/list", { headers: session })).status).toBe(200);
    const body = '{"name":"t","_meta":{"a":1}}';
    expect((await sendJson("POST", "/mcp/tools/call", body)).status).toBe(200);
  });

  test("ignores Content-Type when the request has no body", async () => {
    for (const type of [JSON_TYPE, "text/plain"]) {
      expect((await send("GET", LIST, { headers: { "content-type": type } })).status).toBe(200);
      expect((await send("DELETE", ONE, { headers: { "content-type": type } })).status).toBe(200);
      expect(
        (await send("POST", "/mcp/tools/list", { headers: { "content-type": type, "x-session-id": "s" } })).status,
      ).toBe(200);
    }
  });

  test.each([
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=latin1",
    "application/jsonp",
    "",
  ])("returns 415 for a body with the content type %j", async (type) => {
    const answer = await sendJson("POST", LIST, '{"server_type":"mcp"}', type);
    expect([answer.status, answer.detail]).toEqual([415, "Content-Type must be application/json."]);
  });

  test.each(["application/json; charset=utf-8", 'application/json;charset="UTF-8"', "Application/JSON"])(
    "accepts a body with the content type %s",
    async (type) => {
      expect((await sendJson("POST", LIST, '{"server_type":"mcp"}', type)).status).toBe(201);
    },
  );

  test("accepts gzip, and returns 415 for other encodings and 400 for invalid gzip", async () => {
    const encoded = (encoding: string, body: Uint8Array<ArrayBuffer>) =>
      send("POST", LIST, { body, headers: { "content-type": JSON_TYPE, "content-encoding": encoding } });
    const zipped = new Uint8Array(gzipSync('{"server_type":"mcp"}'));
    expect((await encoded("gzip", zipped)).status).toBe(201);
    expect((await encoded("br", zipped)).status).toBe(415);
    expect(await encoded("gzip", zipped.slice(0, 15))).toMatchObject({
      status: 400,
      detail: "The request body is not valid gzip.",
    });
  });

  test("returns 413 for a gzip bomb", async () => {
    const body = new Uint8Array(gzipSync(Buffer.alloc(200 * 1024 * 1024, 0x20)));
    const answer = await send("POST", LIST, {
      body,
      headers: { "content-type": JSON_TYPE, "content-encoding": "gzip" },
    });
    expect(answer.status).toBe(413);
  });

  test("returns 413 for a body over 1 MiB with or without Content-Length, and accepts 4 MiB for runtime requests", async () => {
    const large = JSON.stringify({ name: "x".repeat(1024 * 1024) });
    expect(await sendJson("POST", LIST, large)).toMatchObject({
      status: 413,
      detail: "The request body is larger than 1048576 bytes.",
    });
    const chunks = new Blob([large]).stream();
    const init: RequestInit & { duplex: "half" } = {
      body: chunks,
      duplex: "half",
      headers: { "content-type": JSON_TYPE },
    };
    expect((await send("POST", LIST, init)).status).toBe(413);
    expect((await sendJson("POST", "/mcp/tools/call", large)).status).toBe(200);
    expect(
      (await sendJson("POST", "/mcp/tools/call", JSON.stringify({ name: "x".repeat(4 * 1024 * 1024) }))).status,
    ).toBe(413);
  });
});

describe("REST errors", () => {
  test.each([
    ["404", 404, "MCP server 404 not found or not accessible"],
    ["409", 409, "It changed meanwhile."],
    ["412", 412, "It is out of date."],
    ["413", 413, "It is too large."],
    ["429", 429, "Slow down."],
    ["500", 500, "Failed to get MCP server details: internal error"],
    ["501", 500, "Failed to get MCP server details: the database did not answer"],
    ["503", 503, "Come back."],
  ])("error %s returns its status and text", async (id, status, detail) => {
    expect(await send("GET", `${LIST}/${id}`)).toMatchObject({ status, detail });
  });

  test("Retry-After is in whole seconds, rounded up", async () => {
    expect((await send("GET", `${LIST}/429`)).headers.get("retry-after")).toBe("3");
    expect((await send("GET", `${LIST}/404`)).headers.get("retry-after")).toBeNull();
  });

  test("logs an unexpected error once and does not disclose it to the client", async () => {
    server.logged.length = 0;
    expect((await send("GET", `${LIST}/500`)).text).not.toContain("hunter2");
    expect(server.logged).toMatchObject([
      { err: { message: "the password is hunter2" }, rpc: "/patchbay.v1.ConnectionService/GetConnection" },
    ]);
  });
});

describe("server-sent events", () => {
  test("sends each message as an event with its name", async () => {
    const answer = await send("GET", `${LIST}/1/events`);
    expect(answer.headers.get("content-type")).toBe("text/event-stream");
    expect(answer.text).toMatch(/^event: snapshot\ndata: \{"event":"snapshot","connections":\[\{"id":7,.*\}\]\}\n\n$/);
  });

  test("an error before the first event returns an ordinary error response, and a later error returns an error event", async () => {
    expect(await send("GET", `${LIST}/404/events`)).toMatchObject({
      status: 404,
      detail: "MCP server 404 not found or not accessible",
    });
    const late = await send("GET", `${LIST}/503/events`);
    expect(late.status).toBe(200);
    expect(late.text).toMatch(
      /\n\nevent: error\ndata: \{"detail":"The token has expired\.","code":"UNAVAILABLE"\}\n\n$/,
    );
  });

  test("HEAD returns only the headers of the stream", async () => {
    const answer = await send("HEAD", `${LIST}/events`);
    expect([answer.status, answer.text, answer.headers.get("content-type")]).toEqual([200, "", "text/event-stream"]);
    expect(server.seen.requests).toEqual([]);
  });

  test("/mcp-servers/events is the stream of the account, not a connection with the ID events", async () => {
    const caller = new AbortController();
    const response = await fetch(`${server.url}${LIST}/events`, {
      headers: { authorization: AUTH },
      signal: caller.signal,
    });
    expect(response.status).toBe(200);
    caller.abort();
    expect(server.seen.requests[0]).not.toHaveProperty("serverId");
  });
});
