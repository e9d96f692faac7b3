import { afterAll, beforeAll, expect, test } from "vitest";
import { isJsonObject, type JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { HOSTILE_CASES } from "../support/hostile-cases.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { describeTool, startUpstream, type Upstream } from "../support/upstream.ts";

/** Fewer than the overruns per minute after which an account must wait. */
const CASES_PER_ACCOUNT = 4;

interface Tenant {
  readonly owner: Owner;
  call(name: string, args: JsonObject): Promise<JsonObject>;
}

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let client: ProtocolClient;
let quiet: Tenant;
let hostile: readonly Tenant[] = [];

async function createTenant(): Promise<Tenant> {
  const account = await accounts.create();
  const owner = createOwner(client, await account.token());
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
  const isVerified = async (): Promise<boolean> => {
    const { data } = await owner.call("GetConnection", { server_id: id });
    return Object(data)["api_key_verification_status"] === "verified";
  };
  await until(isVerified, { withinMs: 60_000, everyMs: 100 });
  const session = await owner.open();
  // The list of tools is fetched before the order of calls matters.
  await owner.call("ListTools", {}, session);
  return {
    owner,
    call: (name, args) => owner.call("CallTool", { name, arguments: args }, session),
  };
}

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  upstream.tools = [
    describeTool("ordinary"),
    ...HOSTILE_CASES.map(({ name, inputSchema }) => describeTool(name, { inputSchema })),
  ];
  upstream.onCall = () => ({ content: [{ type: "text", text: "done" }] });
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
  client = createProtocolClient("rest", service.url);
  quiet = await createTenant();
  const count = Math.ceil(HOSTILE_CASES.length / CASES_PER_ACCOUNT);
  hostile = await Promise.all(Array.from({ length: count }, createTenant));
  await quiet.call("ordinary", { text: "first" });
}, 120_000);

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

/** The order in which calls finish while a tenant calls an ordinary tool. */
async function orderOf(request: Promise<unknown>): Promise<readonly string[]> {
  const finished: string[] = [];
  const slow = request.finally(() => finished.push("hostile"));
  for (let count = 0; count < 3; count += 1) {
    expect(await quiet.call("ordinary", { text: "a" })).not.toMatchObject({ isError: true });
    finished.push("ordinary");
  }
  await slow;
  return finished;
}

test.each(HOSTILE_CASES.map((each, index) => ({ ...each, index })))(
  "calls of another tenant finish before the hostile call of $name is refused",
  async ({ name, args, isEndless = false, index }) => {
    const tenant = hostile[Math.floor(index / CASES_PER_ACCOUNT)];
    if (tenant === undefined) throw new Error("the case has no tenant");
    const calling = tenant.call(name, args);
    const finished = await orderOf(calling);
    const { content, isError } = await calling;
    const [block] = Array.isArray(content) ? content : [];
    const isRefused =
      isError === true && isJsonObject(block) && block.text === "The tool's schema is too expensive to check.";
    expect(isRefused || !isEndless, "an endless check is refused").toBe(true);
    // Checks within the time limit may finish in any order.
    if (isRefused) expect(finished).toEqual(["ordinary", "ordinary", "ordinary", "hostile"]);
  },
  60_000,
);

test("rejects arguments of more than 100,000 values before they are checked", async () => {
  const [tenant] = hostile;
  const headers = await tenant?.owner.open();
  const input = { name: "contains", arguments: { v: Array.from({ length: 100_001 }, () => 0) } };
  const answer = await client.call("CallTool", { input, token: tenant?.owner.token, headers });
  expect(answer).toMatchObject({ status: 400, message: "The JSON has more than 100000 values." });
});

test("rejects a document whose server URL has 80,000 slashes, while another tenant calls tools", async () => {
  const spec = {
    openapi: "3.1.0",
    info: { title: "Slashes", version: "1" },
    servers: [{ url: `https://example.com/${"/".repeat(80_000)}x` }],
    paths: { "/a": { get: { operationId: "a" } } },
  };
  const [tenant] = hostile;
  const input = { server_type: "openapi", configuration: { spec } };
  const creating = client.call("CreateConnection", { input, token: tenant?.owner.token });
  await orderOf(creating);
  expect(await creating).toMatchObject({ status: 400, message: expect.stringContaining("server URL of 80,021") });
});
