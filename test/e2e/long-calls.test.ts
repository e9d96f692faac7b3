import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type IdleProxy, startIdleProxy } from "../support/idle-proxy.ts";
import { createWire, modernHeaders, modernMeta, type Wire, type WireAnswer } from "../support/mcp-wire.ts";
import { PROTOCOL_NAMES } from "../support/outcome.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type PatientUpstream, startPatientUpstream } from "../support/patient-upstream.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

/**
 * Scaled-down production intervals: heartbeats every second instead of 15 s, and a proxy timeout of 3 s instead of 60
 * s.
 */
const ENV = { HEARTBEAT_SECONDS: "1", CALL_IDLE_SECONDS: "20", CALL_MAX_SECONDS: "25", DRAIN_SECONDS: "1" };
const PROXY_IDLE_MS = 3_000;

let database: TestDatabase;
let upstreams: readonly PatientUpstream[];
let service: Service;
let proxy: IdleProxy;
let accounts: TestAccounts;
let account: TestAccount;
let token: string;
let owner: Owner;
/** The connections to the upstreams of both revisions, and a connection with shorter limits. */
let ids: readonly string[];
let hasty: string;

beforeAll(async () => {
  [database, ...upstreams] = await Promise.all([
    createTestDatabase(),
    startPatientUpstream("legacy"),
    startPatientUpstream("modern"),
  ]);
  const hosts = upstreams.map(({ host }) => host).join(",");
  service = await startService({ databaseUrl: database.url, env: { ...ENV, OUTBOUND_ALLOW: hosts } });
  proxy = await startIdleProxy(service.url, PROXY_IDLE_MS);
  accounts = await openAccounts(service.env);
  account = await accounts.create();
  token = await account.token();
  owner = createOwner(createProtocolClient("rest", service.url), token);
  ids = await Promise.all(upstreams.map(({ url }) => connect(owner, url)));
  hasty = await connect(owner, upstreams[0]?.url ?? "");
  await owner.call("UpdateConnection", { server_id: hasty, call_idle_seconds: 1, call_max_seconds: 4 });
}, 60_000);

afterAll(async () => {
  await service?.kill();
  await proxy?.close();
  await accounts?.close();
  await Promise.all((upstreams ?? []).map((upstream) => upstream.close()));
  await database?.close();
});

async function connect(by: Owner, url: string): Promise<string> {
  const id = await by.create({ server_type: "mcp", configuration: { url } });
  await by.waitFor(id, "verified");
  return id;
}

const textOf = (answer: unknown): string =>
  String((answer as { content?: { text?: string }[] } | undefined)?.content?.[0]?.text);

async function callLegacy(wire: Wire, id: string, args: JsonObject, meta: JsonObject = {}): Promise<WireAnswer> {
  return wire.call("tools/call", { name: `work__${id}`, arguments: args, _meta: meta }, { headers: await wire.open() });
}

function callModern(wire: Wire, id: string, args: JsonObject, meta: JsonObject = {}): Promise<WireAnswer> {
  const name = `work__${id}`;
  const params = { name, arguments: args, _meta: modernMeta(meta) };
  return wire.call("tools/call", params, { headers: modernHeaders("tools/call", name) });
}

describe.each([
  ["legacy", callLegacy],
  ["modern", callModern],
] as const)("a %s client behind a proxy that cuts idle connections", (_revision, call) => {
  it("receives heartbeats and then the result of a call that takes longer than the proxy waits", async () => {
    const wire = createWire(proxy.url, token);
    const answers = await Promise.all(ids.map((id) => call(wire, id, { ms: 5_000 })));
    expect(answers.map(({ last }) => textOf(last.result))).toEqual(ids.map(() => "worked for 5000 ms"));
    for (const { text, headers } of answers) {
      expect(headers["content-type"]).toBe("text/event-stream");
      expect(text).toContain(": heartbeat");
    }
    expect(proxy.cut()).toBe(0);
  });

  it("receives progress", async () => {
    const wire = createWire(proxy.url, token);
    const answers = await Promise.all(
      ids.map((id) => call(wire, id, { ms: 1_000, everyMs: 200 }, { progressToken: "mine" })),
    );
    for (const { messages, last } of answers) {
      expect(messages[0]).toMatchObject({ method: "notifications/progress", params: { progressToken: "mine" } });
      expect(textOf(last.result)).toBe("worked for 1000 ms");
    }
  });
});

describe.each(PROTOCOL_NAMES)("a call over %s", (name) => {
  const call = async (client: ProtocolClient, args: JsonObject): Promise<string> => {
    const headers = await owner.open();
    const outcome = await client.call("CallTool", {
      token,
      headers,
      input: { name: `work__${hasty}`, arguments: args },
    });
    return outcome.message === "" ? textOf(outcome.body) : outcome.message;
  };

  it("may exceed the idle limit of its connection while the upstream reports progress", async () => {
    const client = createProtocolClient(name, service.url);
    expect(await call(client, { ms: 2_500, everyMs: 200 })).toBe("worked for 2500 ms");
  });

  it("ends at the limits of its connection", async () => {
    const client = createProtocolClient(name, service.url);
    const [silent, endless] = await Promise.all([
      call(client, { ms: 30_000 }),
      call(client, { ms: 30_000, everyMs: 200 }),
    ]);
    expect(silent).toContain("did not answer within 1 seconds and reported no progress");
    expect(endless).toContain("did not answer within 4 seconds, which is the limit for a whole call");
  });
});

it("100 long calls do not delay other requests or other accounts", async () => {
  const wire = createWire(service.url, token);
  const headers = await wire.open();
  const abort = new AbortController();
  const [first = "", second = ""] = ids;
  const start = (id: string): Promise<unknown> =>
    wire
      .call(
        "tools/call",
        { name: `work__${id}`, arguments: { ms: 30_000 }, _meta: modernMeta() },
        { headers: modernHeaders("tools/call", `work__${id}`), signal: abort.signal },
      )
      .catch(() => undefined);
  const long = [...Array.from({ length: 64 }, () => start(first)), ...Array.from({ length: 36 }, () => start(second))];
  const running = (): number => upstreams.reduce((sum, upstream) => sum + upstream.running(), 0);
  await until(async () => running() === 100, { what: "100 calls run" });

  const refused = await wire.call("tools/call", { name: `work__${second}`, arguments: { ms: 1 } }, { headers });
  expect(textOf(refused.last.result)).toContain("the account is limited to 100");
  expect((await wire.call("tools/list", {}, { headers })).last.result).toBeDefined();
  const other = await (await accounts.create()).token();
  const id = await connect(createOwner(createProtocolClient("rest", service.url), other), upstreams[0]?.url ?? "");
  expect(textOf((await callLegacy(createWire(service.url, other), id, { ms: 1 })).last.result)).toBe("worked for 1 ms");

  // Clients of 2026-07-28 cancel by closing the connection.
  abort.abort();
  await Promise.all(long);
  await until(async () => running() === 0, { what: "the calls have ended" });
});

it("on shutdown the service waits for calls up to its limit and then ends them with an error", async () => {
  const wire = createWire(service.url, token);
  const [id = ""] = ids;
  const [short, long] = [callLegacy(wire, id, { ms: 800 }), callLegacy(wire, id, { ms: 30_000 })];
  await until(async () => (upstreams[0]?.running() ?? 0) === 2, { what: "both calls run" });
  const stopped = service.stop();
  expect(textOf((await short).last.result)).toBe("worked for 800 ms");
  expect((await long).last).toMatchObject({
    error: { message: expect.stringContaining("The service is stopping and ended the call.") },
  });
  expect(await stopped).toBe(0);
});
