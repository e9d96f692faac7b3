import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { INITIALIZED, json, result, startScriptedUpstream, status, type Script } from "./scripted-upstream.ts";
import { call, createSubject, patient, target, textOf, tool, upstream } from "./support.ts";
import type { JsonObject } from "../../../src/json.ts";

const VERSION = "2026-07-28";

/** A server that supports only the 2026-07-28 revision and checks its rules for clients. */
async function modernUpstream(tools: JsonObject[] = [], initialize?: Script) {
  const checked =
    (answer: JsonObject): Script =>
    ({ message, headers }, response) => {
      const params = message.params as { name?: string; _meta?: JsonObject } | undefined;
      const meta = params?._meta;
      const isModern =
        headers["mcp-protocol-version"] === VERSION &&
        meta?.["io.modelcontextprotocol/protocolVersion"] === VERSION &&
        headers["mcp-method"] === message.method &&
        (message.method !== "tools/call" || headers["mcp-name"] === params?.name);
      if (!isModern)
        json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32020, message: "mismatch" } }, 400);
      else json(response, { jsonrpc: "2.0", id: message.id, result: { resultType: "complete", ...answer } });
    };
  const unknown: Script = ({ message }, response) =>
    json(response, { jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "Method not found" } }, 404);
  const server = await startScriptedUpstream({
    initialize: initialize ?? unknown,
    "server/discover": checked({
      supportedVersions: [VERSION],
      capabilities: {},
      serverInfo: { name: "m", version: "1" },
    }),
    "tools/list": checked({ tools, ttlMs: 0, cacheScope: "private" }),
    "tools/call": checked({ content: [{ type: "text", text: "modern" }] }),
    DELETE: unknown,
  });
  const subject = createSubject([server.url]);
  onTestFinished(async () => {
    await subject.close();
    server.close();
  });
  return { server, ...subject };
}

describe("a server that supports the 2026-07-28 revision", () => {
  it.each<[string, Script]>([
    ["supports older revisions in initialize too", result(INITIALIZED)],
    ["answers initialize with 2026-07-28", result({ ...INITIALIZED, protocolVersion: VERSION })],
    ["answers initialize with a plain 400", status(400, "Bad Request")],
    ["answers initialize with a plain 404", status(404, "Not Found")],
  ])("is used in 2026-07-28 if it %s", async (_what, initialize) => {
    const subject = await modernUpstream([{ name: "work", inputSchema: { type: "object" } }], initialize);
    const connection = target(subject.server.url);
    expect(await subject.integration.listTools(connection, patient())).toHaveLength(1);
    expect(textOf(await subject.integration.callTool(connection, tool("work"), {}, patient()))).toBe("modern");
  });
});

describe("a server that refuses the revision of a request", () => {
  const refusing =
    (supported: string[], answered: Script): Script =>
    (request, response) => {
      if (asked++ > 0) answered(request, response);
      else {
        const data = { supported, requested: VERSION };
        const error = { code: -32022, message: "Unsupported protocol version", data };
        json(response, { jsonrpc: "2.0", id: request.message.id, error }, 400);
      }
    };
  let asked = 0;
  beforeEach(() => (asked = 0));

  it("is asked again if it lists that revision as supported", async () => {
    const found = { resultType: "complete", supportedVersions: [VERSION], capabilities: {} };
    const subject = await upstream({ "server/discover": refusing([VERSION], result(found)) });
    await call(subject);
    expect(subject.server.of("server/discover")).toHaveLength(2);
    expect(subject.server.of("initialize")).toHaveLength(0);
  });

  it("is used in an older revision if it lists only older revisions", async () => {
    const subject = await upstream({ "server/discover": refusing(["2025-11-25"], result({})) });
    expect(textOf(await call(subject))).toBe("done");
    expect(subject.server.of("server/discover")).toHaveLength(1);
    expect(subject.server.of("initialize")).toHaveLength(1);
  });
});

describe("a server that supports only the 2026-07-28 revision", () => {
  it("is verified, listed and called without sessions or cancellations", async () => {
    const subject = await modernUpstream([{ name: "work", inputSchema: { type: "object" } }]);
    const connection = target(subject.server.url);
    expect(await subject.integration.verify(connection, patient())).toEqual({ outcome: "verified" });
    expect(await subject.integration.listTools(connection, patient())).toHaveLength(1);
    expect(textOf(await subject.integration.callTool(connection, tool("work"), { a: 1 }, patient()))).toBe("modern");
    expect(subject.server.of("tools/call")[0]?.headers).not.toHaveProperty("mcp-session-id");
    expect(subject.server.of("notifications/initialized")).toHaveLength(0);
  });

  it("receives marked arguments as headers, encoded where necessary", async () => {
    const subject = await modernUpstream();
    const inputSchema: JsonObject = {
      type: "object",
      properties: {
        region: { type: "string", "x-mcp-header": "Region" },
        count: { type: "integer", "x-mcp-header": "Count" },
        exact: { type: "integer", "x-mcp-header": "Exact" },
        absent: { type: "string", "x-mcp-header": "Absent" },
        nested: { type: "object", properties: { text: { type: "string", "x-mcp-header": "Text" } } },
      },
    };
    const exact = JSON.rawJSON("9007199254740993");
    const args = { region: "us-west1", count: 42, exact, nested: { text: "line1\nline2" } };
    await subject.integration.callTool(target(subject.server.url), tool("work", { inputSchema }), args, patient());
    const headers = subject.server.of("tools/call")[0]?.headers;
    expect(headers).toMatchObject({
      "mcp-param-region": "us-west1",
      "mcp-param-count": "42",
      "mcp-param-exact": "9007199254740993",
      "mcp-param-text": "=?base64?bGluZTEKbGluZTI=?=",
    });
    expect(headers).not.toHaveProperty("mcp-param-absent");
  });

  it("omits tools whose x-mcp-header marks break the rules of the revision", async () => {
    const mark = (name: string, properties: JsonObject): JsonObject => ({
      name,
      inputSchema: { type: "object", properties },
    });
    const subject = await modernUpstream([
      mark("fine", { a: { type: "string", "x-mcp-header": "A" }, "x-mcp-header": { type: "string" } }),
      mark("number", { a: { type: "number", "x-mcp-header": "A" } }),
      mark("twice", { a: { type: "string", "x-mcp-header": "A" }, b: { type: "string", "x-mcp-header": "a" } }),
      mark("injection", { a: { type: "string", "x-mcp-header": "A\r\nX: y" } }),
      mark("hidden", { a: { type: "array", items: { type: "string", "x-mcp-header": "A" } } }),
    ]);
    const tools = await subject.integration.listTools(target(subject.server.url), patient());
    expect(tools.map(({ name }) => name)).toEqual(["fine"]);
  });

  it("returns an error result when the server requests input from a person", async () => {
    const server = await startScriptedUpstream({
      "tools/call": ({ message }, response) =>
        json(response, { jsonrpc: "2.0", id: message.id, result: { resultType: "input_required", inputRequests: {} } }),
    });
    const other = createSubject([server.url]);
    const answer = await other.integration.callTool(target(server.url), tool("work"), {}, patient());
    expect(answer.isError).toBe(true);
    expect(textOf(answer)).toMatch(/cannot answer such requests/);
    await other.close();
    server.close();
  });
});
