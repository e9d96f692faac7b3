import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { createTaskSessionFromClient, type TaskEnabledSession } from "@modelcontextprotocol/ext-tasks/client";
import type { JsonObject } from "../../src/json.ts";
import { startEverythingServer as startModernServer } from "../conformance/everything-server.ts";
import { TASKS } from "../conformance/modern-tasks.ts";
import { startEverythingServer as startReferenceServer } from "../integrations/mcp/everything-server.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";

/** The official client of the extension, whose schemas are strict, with the SDK's client of 2026-07-28. */

let database: TestDatabase;
let modern: Awaited<ReturnType<typeof startModernServer>>;
let reference: Awaited<ReturnType<typeof startReferenceServer>>;
let replicas: readonly Service[];
let accounts: TestAccounts;
let token: string;
let owner: Owner;

beforeAll(async () => {
  [database, modern, reference] = await Promise.all([
    createTestDatabase(),
    startModernServer("modern"),
    startReferenceServer(),
  ]);
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: {
      OUTBOUND_ALLOW: `${modern.host},${new URL(reference.url).host}`,
      PUBLIC_URL: "http://patchbay.example.com:8080",
    },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(replicas[0]?.env ?? {});
  token = await (await accounts.create()).token();
  owner = createOwner(createProtocolClient("rest", replicas[0]?.url ?? ""), token);
}, 90_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((service) => service.stop()));
  await accounts?.close();
  await reference?.stop();
  await modern?.close();
  await database?.close();
});

/** Opens a client of the extension whose requests go to the replicas in turn. */
async function openSession(url: string, answer: JsonObject): Promise<TaskEnabledSession> {
  const id = await owner.create({ server_type: "mcp", configuration: { url } });
  await owner.waitFor(id, "verified");
  const capabilities = { elicitation: { form: {} }, extensions: { [TASKS]: {} } };
  const clientInfo = { name: "tasks", version: "1" };
  const client = new Client(clientInfo, { capabilities, versionNegotiation: { mode: "auto" } });
  const path = `/mcp/${id}`;
  const headers = { authorization: `Bearer ${token}` };
  const target = new URL(path, replicas[0]?.url);
  await client.connect(new StreamableHTTPClientTransport(target, { requestInit: { headers } }));
  const wires = replicas.map((replica) => createWire(replica.url, token, path));
  let next = 0;
  const session = createTaskSessionFromClient(client, {
    endpointId: "patchbay",
    v2RequestFraming: { protocolVersion: "2026-07-28", clientInfo, clientCapabilities: capabilities },
    rawDispatch: async (request) => {
      const { method, params } = request as { readonly method: string; readonly params: JsonObject };
      const wire = wires[(next += 1) % wires.length];
      const name = String(params["taskId"] ?? params["name"]);
      const reply = await wire?.call(method, params, { headers: modernHeaders(method, name) });
      const { result, error } = (reply?.last ?? {}) as {
        result?: JsonObject;
        error?: { code: number; message: string };
      };
      return error === undefined ? { kind: "result", result: result ?? {} } : { kind: "error", error };
    },
    onInputRequest: (async () => answer) as never,
  });
  onTestFinished(async () => {
    await session.close();
    await client.close();
  });
  return session;
}

async function settle(session: TaskEnabledSession, tool: string, args: JsonObject) {
  const execution = await session.callTool(tool, args);
  const { outcome, lastTask } = await execution.settle();
  return { kind: execution.kind, text: JSON.stringify(outcome), taskId: lastTask?.taskId };
}

test("the extension's own client follows tasks of a server of 2026-07-28 over two replicas", async () => {
  const session = await openSession(modern.url, { action: "accept", content: { name: "Ada" } });
  const computed = await settle(session, "slow_compute", { seconds: 1, label: "one" });
  expect(computed).toMatchObject({ kind: "task", text: expect.stringContaining("Computed one.") });
  expect((await settle(session, "confirm_delete", { filename: "a" })).text).toContain("Ada");
  expect((await settle(session, "greet", { name: "Grace" })).text).toContain("Hello, Grace!");
  expect((await settle(session, "protocol_error_job", {})).text).toContain("It crashed.");
});

test("the extension's own client follows tasks of the reference server, which has sessions", async () => {
  const session = await openSession(reference.url, { action: "accept", content: { interpretation: "technical" } });
  const { kind, text } = await settle(session, "simulate-research-query", { topic: "python", ambiguous: true });
  expect(kind).toBe("task");
  expect(text).toContain("Research Report: python (technical)");
}, 60_000);
