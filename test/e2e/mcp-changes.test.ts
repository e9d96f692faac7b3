import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type EverythingServer, startEverythingServer } from "../conformance/everything-server.ts";
import { createChangeStreamFetch } from "../support/change-stream.ts";
import { until } from "../support/until.ts";
import { createMcpWorld, type McpWorld } from "../transport/mcp/world.ts";

let changing: EverythingServer;
let world: McpWorld;
beforeAll(async () => {
  changing = await startEverythingServer("both");
  world = await createMcpWorld({}, [changing.host]);
}, 90_000);
afterAll(async () => {
  await world?.close();
  await changing?.close();
});

interface Connected {
  readonly names: () => Promise<readonly string[]>;
  readonly notifications: () => number;
  /** Resolves when the client has opened its stream of notifications. */
  readonly streamOpened: Promise<void>;
}

const requestInit = () => ({ headers: { authorization: `Bearer ${world.token}` } });

async function connectLegacy(path: string): Promise<Connected> {
  const client = new Client({ name: "test", version: "1" });
  let notifications = 0;
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    notifications += 1;
  });
  const { fetch, opened } = createChangeStreamFetch();
  const transport = new StreamableHTTPClientTransport(new URL(world.service.url + path), {
    requestInit: requestInit(),
    fetch,
  });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    notifications: () => notifications,
    streamOpened: opened,
  };
}

async function connectModern(path: string): Promise<Connected> {
  let notifications = 0;
  const onChanged = (): void => {
    notifications += 1;
  };
  const client = new ModernClient(
    { name: "test", version: "1" },
    { versionNegotiation: { mode: { pin: "2026-07-28" } }, listChanged: { tools: { autoRefresh: false, onChanged } } },
  );
  const { fetch, opened } = createChangeStreamFetch();
  await client.connect(new ModernTransport(new URL(world.service.url + path), { requestInit: requestInit(), fetch }));
  onTestFinished(() => client.close());
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    notifications: () => notifications,
    streamOpened: opened,
  };
}

test.each([
  ["v1 SDK", connectLegacy],
  ["v2 SDK, modern", connectModern],
] as const)("notifies a client of the %s of narrowed access, and the client continues", async (_name, connect) => {
  const id = await world.owner.create({ server_type: "mcp", configuration: { url: world.upstream.url } });
  await world.owner.waitFor(id, "verified");
  const client = await connect(`/mcp/${id}`);
  expect(await client.names()).toEqual(["change", "look_up", "remove"]);
  await client.streamOpened;
  await world.owner.call("UpdateConnection", { server_id: id, access_type: "read" });
  await until(async () => client.notifications() === 1);
  expect(await client.names()).toEqual(["look_up"]);
  await world.owner.call("UpdateConnection", { server_id: id, access_type: "write" });
  await until(async () => client.notifications() === 2);
});

test.each([
  ["v1 SDK", connectLegacy],
  ["v2 SDK, modern", connectModern],
] as const)("notifies a client of the %s of a new tool of the upstream", async (_name, connect) => {
  const id = await world.owner.create({ server_type: "mcp", configuration: { url: changing.url } });
  await world.owner.waitFor(id, "verified");
  const client = await connect(`/mcp/${id}`);
  const before = await client.names();
  await client.streamOpened;
  await world
    .wire(`/mcp/${id}`)
    .call("tools/call", { name: "test_trigger_tool_change" }, { headers: await world.wire(`/mcp/${id}`).open() });
  await until(async () => client.notifications() > 0);
  expect((await client.names()).length).toBe(before.length + 1);
});
