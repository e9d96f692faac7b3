import { afterAll, beforeAll, expect, it } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type IdleProxy, startIdleProxy } from "../support/idle-proxy.ts";
import { createWire, modernHeaders, modernMeta } from "../support/mcp-wire.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { PROTOCOL_NAMES } from "../support/outcome.ts";
import { type PatientUpstream, startPatientUpstream } from "../support/patient-upstream.ts";
import { type Service, startService } from "../support/service.ts";

/** How long the tools work, in milliseconds. */
const TIMES = [40_000, 70_000, 130_000];
const PROXY_IDLE_MS = 60_000;

let database: TestDatabase;
let upstreams: readonly PatientUpstream[];
let service: Service;
let proxy: IdleProxy;
let accounts: TestAccounts;
let token: string;
let owner: Owner;
let ids: readonly string[];

beforeAll(async () => {
  [database, ...upstreams] = await Promise.all([
    createTestDatabase(),
    startPatientUpstream("legacy"),
    startPatientUpstream("modern"),
  ]);
  const hosts = upstreams.map(({ host }) => host).join(",");
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: hosts } });
  proxy = await startIdleProxy(service.url, PROXY_IDLE_MS);
  accounts = await openAccounts(service.env);
  token = await (await accounts.create()).token();
  owner = createOwner(createProtocolClient("rest", service.url), token);
  ids = await Promise.all(
    upstreams.map(async ({ url }) => {
      const id = await owner.create({ server_type: "mcp", configuration: { url } });
      await owner.waitFor(id, "verified");
      return id;
    }),
  );
}, 60_000);

afterAll(async () => {
  await service?.kill();
  await proxy?.close();
  await accounts?.close();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
  await database?.close();
});

const textOf = (result: unknown): string =>
  String((result as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text);

it("tools of 40, 70 and 130 seconds succeed for both revisions behind a proxy that waits 60 seconds", async () => {
  const wire = createWire(proxy.url, token);
  const session = await wire.open();
  const calls = ids.flatMap((id) =>
    TIMES.flatMap((ms) =>
      [undefined, 10_000].flatMap((everyMs) => {
        const name = `work__${id}`;
        const params = { name, arguments: { ms, ...(everyMs !== undefined && { everyMs }) } };
        const progress = everyMs === undefined ? {} : { progressToken: `p${ms}` };
        return [
          wire.call("tools/call", { ...params, _meta: progress }, { headers: session }),
          wire.call(
            "tools/call",
            { ...params, _meta: modernMeta(progress) },
            { headers: modernHeaders("tools/call", name) },
          ),
        ].map(async (answer) => ({ ms, everyMs, ...(await answer) }));
      }),
    ),
  );
  for (const { ms, everyMs, last, messages } of await Promise.all(calls)) {
    expect(textOf(last.result)).toBe(`worked for ${ms} ms`);
    const reports = messages.filter(({ method }) => method === "notifications/progress");
    expect(reports.length > 0).toBe(everyMs !== undefined);
  }
  expect(proxy.cut()).toBe(0);
});

it.concurrent.each(PROTOCOL_NAMES)("a tool of 130 seconds without progress succeeds over %s", async (name) => {
  const client = createProtocolClient(name, service.url, 200_000);
  const input = { name: `work__${ids[0] ?? ""}`, arguments: { ms: 130_000 } };
  const { message, body } = await client.call("CallTool", { token, headers: await owner.open(), input });
  expect(message).toBe("");
  expect(textOf(body)).toBe("worked for 130000 ms");
});
