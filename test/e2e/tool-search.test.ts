import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { createChangeStreamFetch } from "../support/change-stream.ts";
import { describeTool, startUpstream, type Upstream } from "../support/upstream.ts";
import { until } from "../support/until.ts";
import { createMcpWorld, type McpWorld } from "../transport/mcp/world.ts";

let controls: Upstream;
let world: McpWorld;
let id: string;
beforeAll(async () => {
  controls = await startUpstream();
  const names = Array.from({ length: 119 }, (_, index) => `press_button_${index}`);
  controls.tools = [...names.map((name) => describeTool(name)), describeTool("forecast_weather")];
  world = await createMcpWorld({}, [controls.host]);
  await world.owner.call("DeleteConnection", { server_id: world.id });
  id = await world.owner.create({ server_type: "mcp", name: "Controls", configuration: { url: controls.url } });
  await world.owner.waitFor(id, "verified");
}, 90_000);
afterAll(async () => {
  await world?.close();
  await controls?.close();
});

interface Listed {
  readonly name: string;
  readonly annotations?: { readonly readOnlyHint?: boolean | undefined } | undefined;
}

interface Connected {
  readonly list: () => Promise<readonly Listed[]>;
  readonly call: (name: string, args: Record<string, unknown>) => Promise<unknown>;
  readonly notifications: () => number;
  /** Resolves when the client has opened its stream of notifications. */
  readonly streamOpened: Promise<void>;
}

const requestInit = () => ({ headers: { authorization: `Bearer ${world.token}` } });

async function connectLegacy(): Promise<Connected> {
  const client = new Client({ name: "test", version: "1" });
  let notifications = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    notifications += 1;
  });
  const { fetch, opened } = createChangeStreamFetch();
  const transport = new StreamableHTTPClientTransport(new URL(`${world.service.url}/mcp`), {
    requestInit: requestInit(),
    fetch,
  });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    notifications: () => notifications,
    streamOpened: opened,
  };
}

async function connectModern(): Promise<Connected> {
  let notifications = 0;
  const onChanged = (): void => {
    notifications += 1;
  };
  const client = new ModernClient(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } }, listChanged: { tools: { autoRefresh: false, onChanged } } },
  );
  const { fetch, opened } = createChangeStreamFetch();
  await client.connect(new ModernTransport(new URL(`${world.service.url}/mcp`), { requestInit: requestInit(), fetch }));
  onTestFinished(() => client.close());
  return {
    list: async () => (await client.listTools()).tools,
    call: (name, args) => client.callTool({ name, arguments: args }),
    notifications: () => notifications,
    streamOpened: opened,
  };
}

test.each([
  ["v1 SDK", connectLegacy],
  ["v2 SDK, modern", connectModern],
] as const)(
  "a client of the %s receives two tools instead of 120, and finds and calls tools with them",
  async (_, connect) => {
    await world.owner.call("UpdateAccountSettings", { tool_search: false });
    const client = await connect();
    await until(async () => (await client.list()).length === 120);
    await client.streamOpened;
    await world.owner.call("UpdateAccountSettings", { tool_search: true });
    await until(async () => client.notifications() === 1);

    const listed = await client.list();
    expect(listed.map(({ name, annotations }) => [name, annotations?.readOnlyHint])).toEqual([
      ["call_tool", false],
      ["find_tools", true],
    ]);
    // Both SDKs validate the result against the listed output schema.
    expect(await client.call("find_tools", { query: "weather forecast" })).toMatchObject({
      structuredContent: {
        tools: [{ name: "forecast_weather", connection: "Controls", inputSchema: { type: "object" } }],
        total_count: 1,
      },
    });
    const args = { text: "tomorrow" };
    expect(await client.call("call_tool", { name: "forecast_weather", arguments: args })).toMatchObject({
      content: [{ type: "text", text: JSON.stringify({ name: "forecast_weather", args }) }],
    });
    expect(await client.call("call_tool", { name: "forecast_whether" })).toMatchObject({ isError: true });
    expect(await client.call("press_button_7", {})).not.toMatchObject({ isError: true });
  },
);

test("the REST runtime lists the same two tools, and the management API lists and searches all of them", async () => {
  await world.owner.call("UpdateAccountSettings", { tool_search: true });
  const authorization = `Bearer ${world.token}`;
  const post = async (path: string, body: unknown, headers: Record<string, string> = {}) => {
    const response = await fetch(`${world.service.url}/mcp/${path}`, {
      method: "POST",
      headers: { authorization, "content-type": "application/json", ...headers },
      body: JSON.stringify(body),
    });
    return (await response.json()) as Record<string, unknown>;
  };
  const { sessionId } = await post("initialize", { protocolVersion: "2025-03-26" });
  const session = { "x-session-id": String(sessionId) };
  expect(await post("tools/list", {}, session)).toMatchObject({
    tools: [{ name: "call_tool" }, { name: "find_tools" }],
  });
  expect(await post("tools/call", { name: "find_tools", arguments: { query: "forecast" } }, session)).toMatchObject({
    isError: false,
    structuredContent: { tools: [{ name: "forecast_weather" }] },
  });
  expect(
    await post("tools/call", { name: "call_tool", arguments: { name: "forecast_weather" } }, session),
  ).toMatchObject({ isError: false });

  const listed = await world.owner.call("ListConnectionTools", { server_id: id });
  expect(listed).toMatchObject({ data: { total_count: 120 } });
  const found = await world.owner.call("SearchTools", { q: "press button 7", limit: 1 });
  expect(found).toMatchObject({ data: [{ tool: { name: "press_button_7" } }] });
});
