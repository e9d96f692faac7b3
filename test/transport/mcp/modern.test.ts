import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { modernHeaders, modernMeta, type WireAnswer } from "../../support/mcp-wire.ts";
import { DEFAULT_TOOLS, describeTool } from "../../support/upstream.ts";
import { until } from "../../support/until.ts";
import { createMcpWorld, type McpWorld } from "./world.ts";

let world: McpWorld;
beforeAll(async () => {
  world = await createMcpWorld();
}, 90_000);
afterAll(() => world?.close());

type Changes = Readonly<Record<string, string | undefined>>;

function call(method: string, params: JsonObject = {}, headers: Changes = {}, path = "/mcp"): Promise<WireAnswer> {
  const name = typeof params["name"] === "string" ? params["name"] : undefined;
  return world
    .wire(path)
    .call(method, { _meta: modernMeta(), ...params }, { headers: { ...modernHeaders(method, name), ...headers } });
}

const codeOf = ({ last }: WireAnswer): unknown => (last["error"] as JsonObject | undefined)?.["code"];

test("server/discover returns the supported versions and capabilities", async () => {
  const { status, last } = await call("server/discover");
  expect([status, last["result"]]).toEqual([
    200,
    {
      resultType: "complete",
      supportedVersions: ["2026-07-28"],
      capabilities: { tools: { listChanged: true } },
      ttlMs: expect.any(Number),
      cacheScope: "private",
      _meta: { "io.modelcontextprotocol/serverInfo": { name: "patchbay", version: expect.any(String) } },
    },
  ]);
});

test("lists contain a time to live, and results have the type complete", async () => {
  expect((await call("tools/list")).last["result"]).toMatchObject({
    resultType: "complete",
    ttlMs: expect.any(Number),
    cacheScope: "private",
    tools: DEFAULT_TOOLS.map(() => expect.any(Object)),
  });
  const { last } = await call("tools/call", { name: "look_up", arguments: { text: "x" } });
  expect(last["result"]).toMatchObject({ resultType: "complete", content: [{ type: "text" }] });
  expect(last["result"]).not.toHaveProperty("ttlMs");
});

test("the MCP URL of a connection lists only the tools of that connection", async () => {
  const other = await world.owner.create({ server_type: "mcp", configuration: { url: world.upstream.url } });
  await world.owner.waitFor(other, "verified");
  const namesAt = async (path: string) =>
    ((await call("tools/list", {}, {}, path)).last["result"] as { tools: { name: string }[] }).tools.map(
      ({ name }) => name,
    );
  expect(await namesAt(`/mcp/${world.id}`)).toEqual(["change", "look_up", "remove"]);
  expect(await namesAt("/mcp")).toEqual(expect.arrayContaining([expect.stringMatching(/^[a-z0-9_]+__look_up$/)]));
  await world.owner.call("DeleteConnection", { server_id: other });
});

describe("inconsistent requests", () => {
  const NO_META = { _meta: {} };
  const version = (value: string) => ({ _meta: modernMeta({ "io.modelcontextprotocol/protocolVersion": value }) });
  test.each<[string, string, JsonObject, Changes, number, number]>([
    ["has no _meta entries", "tools/list", NO_META, {}, 400, -32602],
    [
      "has wrong capabilities",
      "tools/list",
      { _meta: { ...modernMeta(), "io.modelcontextprotocol/clientCapabilities": 1 } },
      {},
      400,
      -32602,
    ],
    ["names another version in its header", "tools/list", version("2027-01-01"), {}, 400, -32020],
    ["has no version header", "tools/list", {}, { "mcp-protocol-version": undefined }, 400, -32020],
    [
      "names a version that is not served",
      "tools/list",
      version("2027-01-01"),
      { "mcp-protocol-version": "2027-01-01" },
      400,
      -32022,
    ],
    ["has no method header", "tools/list", {}, { "mcp-method": undefined }, 400, -32020],
    ["has another method header", "tools/list", {}, { "mcp-method": "tools/call" }, 400, -32020],
    ["has a method header in capitals", "tools/list", {}, { "mcp-method": "TOOLS/LIST" }, 400, -32020],
    ["has no name header", "tools/call", { name: "look_up" }, { "mcp-name": undefined }, 400, -32020],
    ["has another name header", "tools/call", { name: "look_up" }, { "mcp-name": "change" }, 400, -32020],
    ["calls an unknown method", "no/such", {}, {}, 404, -32601],
    ["calls initialize", "initialize", {}, {}, 404, -32601],
    ["calls ping", "ping", {}, {}, 404, -32601],
    ["lists resources that no upstream has", "resources/list", {}, {}, 404, -32601],
    ["calls an unknown tool", "tools/call", { name: "no_such" }, {}, 200, -32602],
  ])("that %s returns the matching error", async (_what, method, params, headers, status, code) => {
    const answer = await call(method, params, headers);
    expect([answer.status, codeOf(answer), answer.last["id"]]).toEqual([status, code, 1]);
  });

  test("an unsupported version returns an error with the supported versions", async () => {
    const answer = await call("tools/list", version("2027-01-01"), { "mcp-protocol-version": "2027-01-01" });
    expect(answer.last).toMatchObject({ error: { data: { supported: ["2026-07-28"], requested: "2027-01-01" } } });
  });
});

test("trims header values and decodes Base64", async () => {
  const params = { name: "look_up", arguments: {} };
  expect((await call("tools/call", params, { "mcp-name": "  look_up  " })).status).toBe(200);
  const wrapped = `=?base64?${Buffer.from("look_up").toString("base64")}?=`;
  expect((await call("tools/call", params, { "mcp-name": wrapped })).status).toBe(200);
});

test("rejects arguments that differ from the headers that mirror them", async () => {
  const properties = {
    region: { type: "string", "x-mcp-header": "Region" },
    deep: { type: "object", properties: { count: { type: "integer", "x-mcp-header": "Count" } } },
  };
  world.upstream.tools = [describeTool("mirrored", { inputSchema: { type: "object", properties } })];
  const id = await world.owner.create({ server_type: "mcp", configuration: { url: world.upstream.url } });
  await world.owner.waitFor(id, "verified");
  const path = `/mcp/${id}`;
  const send = (args: JsonObject, headers: Changes) =>
    call("tools/call", { name: "mirrored", arguments: args }, headers, path);
  const base64 = (text: string) => `=?base64?${Buffer.from(text).toString("base64")}?=`;

  const right = await send(
    { region: "Zürich", deep: { count: 7 } },
    { "mcp-param-region": base64("Zürich"), "mcp-param-count": "7.0" },
  );
  expect(right.last).toMatchObject({ result: { content: [{ type: "text" }] } });
  expect((await send({ region: "x" }, { "mcp-param-region": "x" })).status).toBe(200);
  expect((await send({}, {})).status).toBe(200);
  for (const headers of [{}, { "mcp-param-region": "y" }, { "mcp-param-region": "=?base64?eA?=" }]) {
    const answer = await send({ region: "x" }, headers);
    expect([answer.status, codeOf(answer)]).toEqual([400, -32020]);
  }
});

describe("subscriptions/listen", () => {
  const listen = (id: unknown, notifications: JsonObject) =>
    world.wire().stream({
      method: "POST",
      headers: modernHeaders("subscriptions/listen"),
      body: { jsonrpc: "2.0", id, method: "subscriptions/listen", params: { notifications, _meta: modernMeta() } },
    });

  test("the stream begins with the accepted filter and its subscription ID", async () => {
    const stream = await listen(12, {
      toolsListChanged: true,
      promptsListChanged: true,
      resourceSubscriptions: ["a://b"],
    });
    onTestFinished(() => stream.close());
    const [first] = await until(async () => stream.messages.length > 0 && stream.messages);
    expect(first).toEqual({
      jsonrpc: "2.0",
      method: "notifications/subscriptions/acknowledged",
      params: {
        notifications: { toolsListChanged: true },
        _meta: { "io.modelcontextprotocol/subscriptionId": 12 },
      },
    });
  });

  test("the stream ends immediately when no notification is accepted", async () => {
    const stream = await listen("none", { promptsListChanged: true });
    await stream.ended;
    expect(stream.messages).toEqual([
      expect.objectContaining({ method: "notifications/subscriptions/acknowledged" }),
      { jsonrpc: "2.0", id: "none", result: expect.objectContaining({ resultType: "complete" }) },
    ]);
  });

  test("a subscription requires a notification filter", async () => {
    const answer = await call("subscriptions/listen", {});
    expect(codeOf(answer)).toBe(-32602);
  });
});

test("accepts only POST in this revision", async () => {
  for (const method of ["GET", "DELETE"]) {
    const answer = await world.wire().send({ method, headers: { "mcp-protocol-version": "2026-07-28" } });
    expect([answer.status, answer.headers.allow]).toEqual([405, "POST"]);
  }
});
