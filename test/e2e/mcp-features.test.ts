import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { type ClientCapabilities, ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { type EverythingServer, startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders, modernMeta } from "../support/mcp-wire.ts";
import { createOwner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";

let everything: EverythingServer;
let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let token: string;
let id: string;
let otherId: string;

beforeAll(async () => {
  [everything, database] = await Promise.all([startEverythingServer(), createTestDatabase()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: new URL(everything.url).host } });
  accounts = await openAccounts(service.env);
  token = await (await accounts.create()).token();
  const owner = createOwner(createProtocolClient("rest", service.url), token);
  [id, otherId] = await Promise.all([
    owner.create({ server_type: "mcp", configuration: { url: everything.url } }),
    owner.create({ server_type: "mcp", configuration: { url: everything.url } }),
  ]);
  await owner.waitFor(id, "verified");
  await owner.waitFor(otherId, "verified");
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await everything?.stop();
  await database?.close();
});

async function connect(path: string, capabilities: ClientCapabilities = {}): Promise<Client> {
  const client = new Client({ name: "test", version: "1" }, { capabilities });
  const transport = new StreamableHTTPClientTransport(new URL(`${service.url}${path}`), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
  });
  // The SDK's class does not match its own interface under exactOptionalPropertyTypes.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  onTestFinished(() => client.close());
  return client;
}

test("lists and reads the resources of one connection under their own URIs", async () => {
  const client = await connect(`/mcp/${id}`);
  expect(client.getServerCapabilities()).toMatchObject({
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    completions: {},
    logging: {},
  });
  const { resources } = await client.listResources();
  const uri = resources[0]?.uri ?? "";
  expect(uri).not.toMatch(/^patchbay:/);
  expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, text: expect.any(String) }] });
  const { resourceTemplates } = await client.listResourceTemplates();
  expect(resourceTemplates.map(({ uriTemplate }) => uriTemplate)).toContain(
    "demo://resource/dynamic/text/{resourceId}",
  );
  const dynamic = await client.readResource({ uri: "demo://resource/dynamic/text/7" });
  expect(dynamic.contents[0]?.uri).toBe("demo://resource/dynamic/text/7");
  await expect(client.readResource({ uri: "demo://nowhere" })).rejects.toMatchObject({ code: expect.any(Number) });
});

test("qualifies the same names of two connections, and each name reaches its own upstream", async () => {
  const client = await connect("/mcp");
  const { prompts } = await client.listPrompts();
  const names = prompts.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining([`simple-prompt__${id}`, `simple-prompt__${otherId}`]));
  expect(names).not.toContain("simple-prompt");
  expect((await client.getPrompt({ name: `simple-prompt__${id}` })).messages).toHaveLength(1);
  await expect(client.getPrompt({ name: "simple-prompt" })).rejects.toMatchObject({ code: -32602 });

  const { resources } = await client.listResources();
  const [first] = resources.filter(({ uri }) => uri.startsWith(`patchbay://${otherId}/`));
  const uri = first?.uri ?? "";
  expect((await client.readResource({ uri })).contents[0]?.uri).toBe(uri);
  const template = `patchbay://${id}/demo://resource/dynamic/text/7`;
  expect((await client.readResource({ uri: template })).contents[0]?.uri).toBe(template);
});

test("passes arguments to prompts and completes them", async () => {
  const client = await connect(`/mcp/${id}`);
  const prompt = await client.getPrompt({ name: "args-prompt", arguments: { city: "Bern" } });
  expect(JSON.stringify(prompt.messages)).toContain("Bern");
  const completed = await client.complete({
    ref: { type: "ref/prompt", name: "completable-prompt" },
    argument: { name: "name", value: "A" },
    context: { arguments: { department: "Engineering" } },
  });
  expect(completed.completion.values).toEqual(["Alice"]);
});

test("reports the progress of a long tool call", async () => {
  const client = await connect(`/mcp/${id}`);
  const heard: unknown[] = [];
  const result = await client.callTool(
    { name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } },
    undefined,
    { onprogress: (progress) => heard.push(progress) },
  );
  expect(JSON.stringify(result.content)).toContain("completed");
  expect(heard).toEqual([1, 2, 3, 4].map((progress) => ({ progress, total: 4 })));
});

test("subscribes to and unsubscribes from resources", async () => {
  const client = await connect(`/mcp/${id}`);
  const uri = "demo://resource/dynamic/text/1";
  expect(await client.subscribeResource({ uri })).toEqual({});
  expect(await client.unsubscribeResource({ uri })).toEqual({});
});

test.each([
  { declared: {}, who: "a client that shares the upstream session" },
  { declared: { elicitation: {} }, who: "a client with an upstream session of its own" },
])("subscribes $who in the session of its calls", async ({ declared }) => {
  const client = await connect(`/mcp/${id}`, declared);
  const uri = "demo://resource/dynamic/text/2";
  const updated: string[] = [];
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => void updated.push(params.uri));
  await client.subscribeResource({ uri });
  // The server reports the resources to which the session of this call has subscribed.
  await client.callTool({ name: "toggle-subscriber-updates", arguments: {} });
  await expect.poll(() => updated, { timeout: 4_000 }).toContain(uri);
});

test("a modern client's subscription has reached the upstream when it is acknowledged", async () => {
  const uri = "demo://resource/dynamic/text/3";
  const wire = createWire(service.url, token);
  const stream = await wire.stream({
    method: "POST",
    path: `/mcp/${otherId}`,
    headers: { ...modernHeaders("subscriptions/listen"), accept: "application/json, text/event-stream" },
    body: {
      jsonrpc: "2.0",
      id: 1,
      method: "subscriptions/listen",
      params: { notifications: { resourceSubscriptions: [uri] }, _meta: modernMeta() },
    },
  });
  onTestFinished(() => stream.close());
  await expect.poll(() => stream.messages).toHaveLength(1);
  expect(stream.messages[0]).toMatchObject({ params: { notifications: { resourceSubscriptions: [uri] } } });
  await wire.call(
    "tools/call",
    { name: "toggle-subscriber-updates", arguments: {}, _meta: modernMeta() },
    { path: `/mcp/${otherId}`, headers: modernHeaders("tools/call", "toggle-subscriber-updates") },
  );
  await expect
    .poll(() => stream.messages.map(({ method }) => method), { timeout: 4_000 })
    .toContain("notifications/resources/updated");
});
