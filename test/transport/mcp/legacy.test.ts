import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { describeTool } from "../../support/upstream.ts";
import { until } from "../../support/until.ts";
import { createMcpWorld, type McpWorld } from "./world.ts";

let world: McpWorld;
beforeAll(async () => {
  world = await createMcpWorld();
}, 90_000);
afterAll(() => world?.close());

describe("initialize", () => {
  test.each([
    ["2024-11-05", "2024-11-05"],
    ["2025-03-26", "2025-03-26"],
    ["2025-06-18", "2025-06-18"],
    ["2025-11-25", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
    ["1999-01-01", "2025-11-25"],
  ])("negotiates revision %s to %s", async (protocolVersion, agreed) => {
    const clientInfo = { name: "n", version: "v" };
    const answer = await world.wire().call("initialize", { protocolVersion, capabilities: {}, clientInfo });
    expect(answer.last).toMatchObject({
      result: {
        protocolVersion: agreed,
        capabilities: { tools: { listChanged: true } },
        serverInfo: { name: "patchbay" },
      },
    });
    expect(answer.headers["mcp-session-id"]).toMatch(/^[A-Za-z0-9_-]{22,}$/);
  });

  test("opens a new session for every initialize request", async () => {
    const one = await world.wire().open();
    const two = await world.wire().open();
    expect(one["mcp-session-id"]).not.toBe(two["mcp-session-id"]);
  });
});

describe("MCP sessions", () => {
  test("all other methods require the session header", async () => {
    expect((await world.wire().call("tools/list")).status).toBe(400);
    expect((await world.wire().send({ method: "DELETE" })).status).toBe(400);
    expect((await world.wire().send({ method: "GET" })).status).toBe(400);
  });

  test("returns 404 with the request ID for an unknown, ended or foreign session", async () => {
    const session = await world.wire().open();
    const stranger = await (await world.accounts.create()).token();
    const foreign = await world.wire("/mcp", stranger).call("ping", {}, { headers: session });
    expect([foreign.status, foreign.last]).toEqual([
      404,
      { jsonrpc: "2.0", id: 1, error: { code: -32001, message: expect.any(String) } },
    ]);
    const unknown = { ...session, "mcp-session-id": "a".repeat(32) };
    expect((await world.wire().call("ping", {}, { headers: unknown })).status).toBe(404);
    expect((await world.wire().send({ method: "DELETE", headers: session })).status).toBe(204);
    expect((await world.wire().call("ping", {}, { headers: session })).status).toBe(404);
    expect((await world.wire().send({ method: "DELETE", headers: session })).status).toBe(404);
  });

  test("rejects a session of another client of the same account", async () => {
    const session = await world.wire().open();
    const other = await world.account.token("mcp.read");
    expect((await world.wire("/mcp", other).call("ping", {}, { headers: session })).status).toBe(404);
  });

  test("rejects a session at a URL other than the URL where it was opened", async () => {
    const alone = await world.wire(`/mcp/${world.id}`).open();
    const all = await world.wire().open();
    expect((await world.wire().call("ping", {}, { headers: alone })).status).toBe(404);
    expect((await world.wire(`/mcp/${world.id}`).call("ping", {}, { headers: all })).status).toBe(404);
    expect((await world.wire(`/mcp/${world.id}`).call("ping", {}, { headers: alone })).last).toMatchObject({
      result: {},
    });
  });

  test("accepts an MCP session over REST", async () => {
    const session = await world.wire().open();
    const headers = { "x-session-id": String(session["mcp-session-id"]) };
    expect(await world.owner.call("ListTools", {}, headers)).toMatchObject({ tools: expect.any(Array) });
    const fromRest = await world.owner.open();
    const ping = await world.wire().call("ping", {}, { headers: { "mcp-session-id": fromRest["x-session-id"] } });
    expect(ping.last).toMatchObject({ result: {} });
  });

  test("rejects a session with a protocol revision that has no sessions", async () => {
    const session = await world.wire().open();
    const headers = { ...session, "mcp-protocol-version": "1999-01-01" };
    expect((await world.wire().call("ping", {}, { headers })).status).toBe(400);
    expect(
      (await world.wire().call("ping", {}, { headers: { ...session, "mcp-protocol-version": undefined } })).status,
    ).toBe(200);
  });
});

describe("JSON-RPC batches", () => {
  const batch = [
    { jsonrpc: "2.0", id: 1, method: "ping" },
    { jsonrpc: "2.0", method: "notifications/initialized" },
    { jsonrpc: "2.0", id: "two", method: "nothing" },
    { nonsense: true },
  ];

  test("accepts batches in revision 2025-03-26", async () => {
    const headers = await world.wire().open("2025-03-26");
    const answer = await world.wire().send({ headers, body: batch });
    expect(answer.status).toBe(200);
    expect(JSON.parse(answer.text)).toEqual([
      { jsonrpc: "2.0", id: 1, result: {} },
      { jsonrpc: "2.0", id: "two", error: { code: -32601, message: expect.any(String) } },
      { jsonrpc: "2.0", error: { code: -32600, message: expect.any(String) } },
    ]);
    expect((await world.wire().send({ headers, body: [] })).status).toBe(400);
    expect((await world.wire().send({ headers, body: batch.slice(1, 2) })).status).toBe(202);
  });

  test.each(["2024-11-05", "2025-06-18", "2025-11-25"])("rejects batches in revision %s", async (version) => {
    const headers = await world.wire().open(version);
    expect((await world.wire().send({ headers, body: batch })).status).toBe(400);
  });
});

describe("JSON-RPC messages", () => {
  test.each<[string, unknown, number, number]>([
    ["invalid JSON", "{", 400, -32700],
    ["an empty body", undefined, 400, -32700],
    ["no JSON-RPC members", {}, 400, -32600],
    ["another JSON-RPC version", { jsonrpc: "1.0", id: 1, method: "ping" }, 400, -32600],
    ["a null ID", { jsonrpc: "2.0", id: null, method: "ping" }, 400, -32600],
    ["params in a list", { jsonrpc: "2.0", id: 1, method: "ping", params: [] }, 400, -32600],
    [
      "too many nesting levels",
      `{"jsonrpc":"2.0","id":1,"method":"ping","params":${"[".repeat(40)}${"]".repeat(40)}}`,
      400,
      -32700,
    ],
    ["more than 4 MiB", `"${"x".repeat(4 * 1024 * 1024)}"`, 413, -32600],
  ])("rejects a message with %s", async (_what, body, status, code) => {
    const answer = await world.wire().send({ headers: await world.wire().open(), body });
    expect([answer.status, answer.last["error"]]).toEqual([status, expect.objectContaining({ code })]);
  });

  test("requires the content type JSON and a matching Accept header", async () => {
    const session = await world.wire().open();
    const send = (headers: Record<string, string>) =>
      world.wire().call("ping", {}, { headers: { ...session, ...headers } });
    expect((await send({ "content-type": "text/plain" })).status).toBe(415);
    expect((await send({ accept: "image/png" })).status).toBe(406);
    expect((await send({ accept: "application/json; charset=utf-8" })).headers["content-type"]).toBe(
      "application/json",
    );
    expect((await send({ accept: "text/event-stream" })).headers["content-type"]).toBe("text/event-stream");
    expect((await send({ accept: "*/*" })).headers["content-type"]).toBe("application/json");
    const noStream = await world.wire().send({ method: "GET", headers: { ...session, accept: "application/json" } });
    expect(noStream.status).toBe(406);
    expect((await world.wire().send({ method: "PUT", headers: session })).status).toBe(405);
  });

  test("keeps every digit of IDs and numbers beyond 2^53", async () => {
    const headers = await world.wire().open();
    const call = '{"name":"look_up","arguments":{"text":"x","big":12345678901234567890}}';
    const body = `{"jsonrpc":"2.0","id":98765432109876543210,"method":"tools/call","params":${call}}`;
    const { text } = await world.wire().send({ headers, body });
    expect(text).toContain('"id":98765432109876543210');
    expect(text).toContain("12345678901234567890");
  });
});

describe("tools", () => {
  test("reports tool call errors in the result, where the model can read them", async () => {
    const headers = await world.wire().open();
    const { last } = await world
      .wire()
      .call("tools/call", { name: "look_up", arguments: { count: "three" } }, { headers });
    expect(last).toMatchObject({
      result: { isError: true, content: [{ type: "text", text: expect.stringMatching(/count.*integer/) }] },
    });
  });

  test.each<[string, JsonObject]>([
    ["an unknown name", { name: "no_such_tool" }],
    ["no name", {}],
    ["arguments that are no object", { name: "look_up", arguments: "x" }],
  ])("return a JSON-RPC error for %s", async (_what, params) => {
    const { status, last } = await world.wire().call("tools/call", params, { headers: await world.wire().open() });
    expect([status, last]).toEqual([
      200,
      expect.objectContaining({ error: expect.objectContaining({ code: -32602 }) }),
    ]);
  });

  test("hides writing tools from a read-only token", async () => {
    const wire = world.wire("/mcp", await world.account.token("mcp.read"));
    const { last } = await wire.call("tools/list", {}, { headers: await wire.open() });
    expect((last["result"] as { tools: { name: string }[] }).tools.map(({ name }) => name)).toEqual(["look_up"]);
  });

  test('returns "Method not found" for a feature that no upstream supports', async () => {
    const headers = await world.wire().open();
    for (const method of ["resources/list", "prompts/get", "logging/setLevel", "server/discover", "no/such"]) {
      expect((await world.wire().call(method, {}, { headers })).last).toMatchObject({ error: { code: -32601 } });
    }
  });

  test("lists tools in pages without gaps while the list changes", async () => {
    const all = Array.from({ length: 1_223 }, (_, index) => describeTool(`tool_${String(index).padStart(4, "0")}`));
    const account = await world.accounts.create();
    const token = await account.token();
    const wire = world.wire("/mcp", token);
    world.upstream.tools = all;
    const create = { server_type: "mcp", configuration: { url: world.upstream.url } };
    const created = await fetch(`${world.service.url}/api/v1/mcp-servers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify(create),
    });
    expect(created.status).toBe(201);
    const headers = await wire.open();
    const page = async (cursor?: string) => {
      const { last } = await wire.call("tools/list", cursor === undefined ? {} : { cursor }, { headers });
      return last["result"] as { tools: { name: string }[]; nextCursor?: string };
    };
    const first = await until(async () => {
      const found = await page();
      return found.tools.length === 500 && found;
    });
    const names = first.tools.map(({ name }) => name);
    const second = await page(first.nextCursor);
    const third = await page(second.nextCursor);
    names.push(...second.tools.map(({ name }) => name), ...third.tools.map(({ name }) => name));
    expect(third.nextCursor).toBeUndefined();
    expect(names).toEqual(all.map(({ name }) => name));
    expect((await wire.call("tools/list", { cursor: "nonsense" }, { headers })).last).toMatchObject({
      error: { code: -32602 },
    });
  });
});
