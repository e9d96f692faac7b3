import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Prism, startPrismMock } from "../support/prism.ts";
import { type Service, startService } from "../support/service.ts";
import { shows, watchGrpc, watchRest } from "../support/watch.ts";

const KEY = "0123456789abcdef0123456789abcdef01234567";
const BASIC = `Basic ${btoa(`${KEY}:x`)}`;

let prism: Prism;
let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let owner: Owner;
/** Requests that reached BambooHR with the valid key. */
const asked: string[] = [];

/** A proxy in front of Prism, which accepts any key. It rejects wrong keys like BambooHR does. */
const door: Server = createServer((request, response) => {
  if (request.headers.authorization === BASIC) void pass(request, response);
  else response.writeHead(401, { "content-type": "text/plain" }).end();
});

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  asked.push(`${request.method ?? ""} ${request.url ?? ""}`);
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
  const { host: _host, connection: _connection, "content-length": _length, ...headers } = request.headers;
  const answer = await fetch(prism.url + (request.url ?? ""), {
    method: request.method ?? "GET",
    headers: headers as Record<string, string>,
    ...(chunks.length > 0 && { body: Buffer.concat(chunks) }),
  });
  response.writeHead(answer.status, { "content-type": answer.headers.get("content-type") ?? "application/json" });
  response.end(Buffer.from(await answer.arrayBuffer()));
}

beforeAll(async () => {
  [prism, database] = await Promise.all([startPrismMock("openapi/integrations/bamboohr.yaml"), createTestDatabase()]);
  door.listen(0, "127.0.0.1");
  await once(door, "listening");
  const address = door.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  service = await startService({
    databaseUrl: database.url,
    env: { INTEGRATION_BASE_URLS: `bamboohr=http://127.0.0.1:${port}` },
  });
  accounts = await openAccounts(service.env);
  owner = createOwner(createProtocolClient("rest", service.url), await (await accounts.create()).token());
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  door.closeAllConnections();
  door.close();
  await prism?.stop();
  await database?.close();
});

const create = (key?: string): Promise<string> =>
  owner.create({
    server_type: "bamboohr",
    configuration: { company_domain: "acme", ...(key !== undefined && { api_token: key }) },
  });

test("watches over server-sent events and gRPC see a key change from pending to verified", async () => {
  const id = await create();
  const watches = [
    watchRest(service.url, owner.token),
    watchRest(service.url, owner.token, id),
    watchGrpc(service.url, owner.token),
    watchGrpc(service.url, owner.token, id),
  ];
  for (const watch of watches)
    expect(await watch.event(({ event }) => event === "snapshot", "snapshot")).toSatisfy(shows("pending"));
  await owner.call("UpdateConnection", { server_id: id, api_key: KEY });
  for (const watch of watches)
    await watch.event((event) => event["event"] === "updated" && shows("verified")(event), "verified");
  expect(asked).toContain("GET /api/v1/company_information");
  await owner.call("DeleteConnection", { server_id: id });
  for (const watch of watches) {
    expect(await watch.event(({ event }) => event === "deleted", "deleted")).toMatchObject({ server_id: id });
  }
  // A watch of one connection ends with it; a watch of the account continues.
  expect(await Promise.all([watches[1]?.ended, watches[3]?.ended])).toEqual([undefined, undefined]);
  for (const watch of watches) watch.close();
});

test("sets a wrong key to failed, and a valid one to verified", async () => {
  const id = await create("wrong");
  await owner.waitFor(id, "failed");
  const { connection } = await owner.call("GetConnection", { server_id: id, view: "detailed" });
  expect(connection).toMatchObject({ status: "error", status_reason: expect.stringMatching(/\w+ \w+/) });
  const call = async () => owner.call("CallTool", { name: `get_company_information__${id}` }, await owner.open());
  expect(await call()).toMatchObject({ isError: true });
  await owner.call("UpdateConnection", { server_id: id, api_key: KEY });
  await owner.waitFor(id, "verified");
  expect(await call()).toMatchObject({ isError: false });
  await owner.call("DeleteConnection", { server_id: id });
});

test("lists the tools that the access level allows and calls tools of each kind", async () => {
  const id = await create(KEY);
  await owner.waitFor(id, "verified");
  const all = await owner.toolNames(id);
  expect(all).toEqual(
    expect.arrayContaining([
      "get_employee",
      "list_employees",
      "get_employee_directory",
      "list_fields",
      "list_whos_out",
      "create_employee",
    ]),
  );
  expect(all.length).toBeGreaterThanOrEqual(10);
  const { data } = await owner.call("ListConnectionTools", { server_id: id });
  for (const tool of (data as { tools: object[] }).tools) {
    expect(tool).toMatchObject({
      description: expect.stringMatching(/\w/),
      inputSchema: expect.objectContaining({ type: "object", properties: expect.anything() }),
      annotations: { requiresAuth: true, audience: expect.any(Array) },
    });
  }

  const session = await owner.open();
  const read = await owner.call("CallTool", { name: "get_employee", arguments: { id: "123" } }, session);
  expect(read).toMatchObject({ isError: false, structuredContent: expect.any(Object) });
  const write = await owner.call(
    "CallTool",
    { name: "create_employee", arguments: { firstName: "Ada", lastName: "Lovelace" } },
    session,
  );
  expect(write).toMatchObject({ isError: false });
  expect(asked).toEqual(
    expect.arrayContaining([expect.stringMatching(/^GET \/api\/v1\/employees\/123/), "POST /api/v1/employees"]),
  );

  await owner.call("UpdateConnection", { server_id: id, access_type: "read" });
  const reading = await owner.toolNames(id);
  expect(reading).toContain("get_employee");
  expect(reading).not.toContain("create_employee");

  await owner.call("UpdateConnection", { server_id: id, access_type: "individual" });
  expect(await owner.toolNames(id)).toEqual(all);
  const ids = new Map((data as { tools: { id: number; name: string }[] }).tools.map((tool) => [tool.name, tool.id]));
  await owner.call("UpdateConnection", { server_id: id, disabled_tools: [ids.get("create_employee") ?? 0] });
  expect(await owner.toolNames(id)).toEqual(all.filter((name) => name !== "create_employee"));
});
