import { afterAll, beforeAll, expect, test } from "vitest";
import { type EverythingServer, startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";

let everything: EverythingServer;
let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let rest: Owner;
let grpc: Owner;
let id: string;

beforeAll(async () => {
  [everything, database] = await Promise.all([startEverythingServer(), createTestDatabase()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: new URL(everything.url).host } });
  accounts = await openAccounts(service.env);
  const token = await (await accounts.create()).token();
  rest = createOwner(createProtocolClient("rest", service.url), token);
  grpc = createOwner(createProtocolClient("grpc", service.url), token);
  id = await rest.create({ server_type: "mcp", configuration: { url: everything.url } });
  await rest.waitFor(id, "verified");
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await everything?.stop();
  await database?.close();
});

test("lists the tools of the MCP reference server with their schemas", async () => {
  expect(await rest.toolNames(id)).toEqual(expect.arrayContaining(["echo", "get-sum", "get-tiny-image"]));
  const { tools } = await rest.call("ListTools", {}, await rest.open());
  expect(tools).toContainEqual(
    expect.objectContaining({
      name: "get-sum",
      inputSchema: expect.objectContaining({ type: "object", required: ["a", "b"] }),
    }),
  );
});

test.each(["rest", "grpc"] as const)("returns text, sums and images over %s", async (protocol) => {
  const owner = protocol === "rest" ? rest : grpc;
  const session = await owner.open();
  const echo = await owner.call("CallTool", { name: "echo", arguments: { message: "hello ✓" } }, session);
  expect(echo).toEqual({ content: [{ type: "text", text: "Echo: hello ✓" }], isError: false });
  const sum = await owner.call("CallTool", { name: "get-sum", arguments: { a: 2, b: 40 } }, session);
  expect(sum).toMatchObject({ isError: false, content: [{ type: "text", text: expect.stringContaining("42") }] });
  const image = await owner.call("CallTool", { name: "get-tiny-image" }, session);
  const { content } = image as { content: { type: string; data?: string; mimeType?: string }[] };
  const block = content.find(({ type }) => type === "image");
  expect(block?.mimeType).toBe("image/png");
  expect(
    Buffer.from(block?.data ?? "", "base64")
      .subarray(1, 4)
      .toString(),
  ).toBe("PNG");
  const structured = await owner.call(
    "CallTool",
    { name: "get-structured-content", arguments: { location: "New York" } },
    session,
  );
  expect(structured).toMatchObject({ isError: false, structuredContent: { temperature: expect.any(Number) } });
});

test("returns an error result for invalid arguments that a model can correct", async () => {
  const result = await rest.call("CallTool", { name: "get-sum", arguments: { a: "two" } }, await rest.open());
  expect(result).toMatchObject({
    isError: true,
    content: [{ type: "text", text: expect.stringMatching(/"?b"?.*missing|a.*number/s) }],
  });
});

test("reopens a session that the upstream lost, without an error for the caller", async () => {
  const session = await rest.open();
  await rest.call("CallTool", { name: "echo", arguments: { message: "before" } }, session);
  await everything.restart();
  const result = await rest.call("CallTool", { name: "echo", arguments: { message: "after" } }, session);
  expect(result).toEqual({ content: [{ type: "text", text: "Echo: after" }], isError: false });
});

test("serves the last known list while the upstream is down, and explains the failure of calls", async () => {
  const before = await rest.toolNames(id);
  const session = await rest.open();
  await everything.stop();
  expect(await rest.toolNames(id)).toEqual(before);
  const { tools } = await rest.call("ListTools", {}, session);
  expect(tools).toHaveLength(before.length);
  const result = await rest.call("CallTool", { name: "echo", arguments: { message: "x" } }, session);
  expect(result).toMatchObject({ isError: true, content: [{ type: "text", text: expect.stringMatching(/\w+ \w+/) }] });

  // The list is in the database, so a new service that never reached the upstream serves it as well.
  await service.stop();
  await service.start();
  expect(await rest.toolNames(id)).toEqual(before);

  await everything.restart();
  const again = await rest.call("CallTool", { name: "echo", arguments: { message: "again" } }, session);
  expect(again).toEqual({ content: [{ type: "text", text: "Echo: again" }], isError: false });
});
