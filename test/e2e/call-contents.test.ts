import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createWire, modernHeaders, modernMeta } from "../support/mcp-wire.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { describeTool, startUpstream, type Upstream } from "../support/upstream.ts";

const KEY = "key-of-the-upstream-0123456789";
const CANARY = "canary-of-what-was-said";

let database: TestDatabase;
let upstream: Upstream;
let replicas: readonly Service[];
let accounts: TestAccounts;

beforeAll(async () => {
  database = await createTestDatabase();
  upstream = await startUpstream();
  upstream.key = KEY;
  // Enough tools for the account to enable tool search.
  upstream.tools = Array.from({ length: 120 }, (_, index) => describeTool(`tool_${index}`));
  const masterKeys = createMasterKeys();
  const env = { OUTBOUND_ALLOW: upstream.host, PUBLIC_URL: "http://patchbay.example", LOG_LEVEL: "trace" };
  const start = () => startService({ databaseUrl: database.url, masterKeys, env });
  const first = await start();
  replicas = [first, await start()];
  accounts = await openAccounts(first.env);
}, 90_000);

afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await accounts?.close();
  await Promise.all([upstream?.close(), database?.close()]);
});

test("keeps the contents of calls encrypted over every protocol, also on a replica that did not receive the setting", async () => {
  const token = await (await accounts.create()).token();
  const [here, there] = replicas.map(({ url }) => ({ url, ...createProtocolClient("rest", url) }));
  if (here === undefined || there === undefined) throw new Error("expected two replicas");
  const configuration = { url: upstream.url, api_token: KEY };
  const created = await here.call("CreateConnection", { token, input: { server_type: "mcp", configuration } });
  const { server_id: id } = created.body as { server_id: string };
  await until(
    async () => {
      const { body } = await there.call("ListConnectionTools", { token, input: { server_id: id } });
      expect(body).toMatchObject({ data: { total_count: 120 } });
      return true;
    },
    { what: "tools" },
  );
  await here.call("UpdateConnection", { token, input: { server_id: id, keep_contents_days: 7 } });
  await here.call("UpdateAccountSettings", { token, input: { tool_search: true } });

  const wire = createWire(there.url, token);
  const { sessionId } = (await there.call("Initialize", { token })).body as { sessionId: string };
  const session = await wire.open();
  const said = (client: string) => ({ text: `${CANARY} over ${client}, with ${KEY}` });
  await until(
    async () => {
      const { last } = await wire.call("tools/list", {}, { headers: session });
      expect(JSON.stringify(last)).toContain("call_tool");
      return true;
    },
    { what: "the two tools that find and call others" },
  );
  await there.call("CallTool", {
    token,
    headers: { "x-session-id": sessionId },
    input: { name: "tool_1", arguments: said("REST") },
  });
  await createProtocolClient("grpc", there.url).call("CallTool", {
    token,
    headers: { "x-session-id": sessionId },
    input: { name: "tool_2", arguments: said("gRPC") },
  });
  await wire.call("tools/call", { name: "tool_3", arguments: said("a session") }, { headers: session });
  await wire.call(
    "tools/call",
    { name: "tool_4", arguments: said("no session"), _meta: modernMeta() },
    { headers: modernHeaders("tools/call", "tool_4") },
  );
  await wire.call(
    "tools/call",
    { name: "call_tool", arguments: { name: "tool_5", arguments: said("call_tool") } },
    { headers: session },
  );

  const calls = await until(
    async () => {
      const { data } = (await here.call("ListCalls", { token })).body as {
        data: { id: string; tool: string; contents_kept: boolean }[];
      };
      expect(data.map((call) => call.contents_kept)).toEqual([true, true, true, true, true]);
      return data.toSorted((a, b) => a.tool.localeCompare(b.tool));
    },
    { what: "five calls, all kept" },
  );
  const protocols = ["REST", "gRPC", "a session", "no session", "call_tool"];
  for (const [index, call] of calls.entries()) {
    const { body } = await here.call("GetCall", { token, input: { server_id: id, call_id: call.id } });
    const text = `${CANARY} over ${protocols[index]}, with [redacted]`;
    expect(body).toMatchObject({ data: { arguments: { text }, result: { isError: false } } });
    expect(JSON.stringify(body)).not.toContain(KEY);
  }

  const rows = await accounts.query(
    "select call_contents::text || encode(sealed, 'escape') as row from call_contents union all select call_record::text from call_record",
  );
  expect(rows).toHaveLength(10);
  for (const shown of [JSON.stringify(rows), ...replicas.map((replica) => replica.output())])
    expect(shown).not.toContain(CANARY);
});
