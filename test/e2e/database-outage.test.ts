import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type EmbeddedPostgres, startEmbeddedPostgres } from "../../src/storage/embedded-postgres.ts";
import { openAccounts, type TestAccount } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createFormBrowser } from "../support/form-browser.ts";
import { freeze } from "../support/freeze.ts";
import { createWire, modernHeaders, modernMeta } from "../support/mcp-wire.ts";
import { type Service, startService } from "../support/service.ts";
import { startStallingProxy, type StallingProxy } from "../support/stalling-proxy.ts";
import { until } from "../support/until.ts";

let dataDir: string;
let postgres: EmbeddedPostgres;
let proxy: StallingProxy;
let service: Service;
let account: TestAccount;
let token: string;
let client: { readonly clientId: string; readonly clientSecret: string };

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), "patchbay-outage-"));
  // A separate cluster, so that other tests are not affected.
  postgres = await startEmbeddedPostgres({ dataDir, log: pino({ level: "silent" }) });
  proxy = await startStallingProxy(postgres.url);
  service = await startService({ databaseUrl: proxy.url });
  const accounts = await openAccounts({ ...service.env, DATABASE_URL: postgres.url });
  account = await accounts.create();
  token = await account.token();
  client = await account.client("mgmt.read");
  await accounts.close();
}, 90_000);

afterAll(async () => {
  await service?.kill();
  await proxy?.close();
  await postgres?.stop();
  await rm(dataDir, { recursive: true, force: true });
});

const readiness = async (): Promise<number> => (await fetch(`${service.url}/readyz`)).status;

const requestToken = (): Promise<Response> =>
  fetch(`${service.url}/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client.clientId}:${client.clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });

/** The response to a request of each kind. */
async function askEverything(session: Readonly<Record<string, string>>): Promise<Readonly<Record<string, unknown>>> {
  const api = async (name: "rest" | "connect" | "grpc" | "grpc-web") =>
    (await createProtocolClient(name, service.url).call("ListConnections", { token })).status;
  const wire = createWire(service.url, token);
  const logIn = async () => {
    const browser = createFormBrowser(service.url);
    return (await browser.logIn(account.email, "a-wrong-password")).status;
  };
  const [rest, connect, grpc, legacy, modern, tokens, login] = await Promise.all([
    api("rest"),
    api("connect"),
    api("grpc"),
    wire.call("tools/list", {}, { headers: session }),
    wire.call("tools/list", { _meta: modernMeta() }, { headers: modernHeaders("tools/list") }),
    requestToken(),
    logIn(),
  ]);
  return { rest, connect, grpc, legacy: legacy.status, modern: modern.status, tokens: tokens.status, login };
}

test("returns 503 over every protocol while PostgreSQL is frozen, and recovers automatically", async () => {
  const session = await createWire(service.url, token).open();
  const before = await askEverything(session);
  expect(before).toMatchObject({ rest: 200, legacy: 200, modern: 200, tokens: 200 });
  const thaw = await freeze(
    Number((await readFile(join(dataDir, "postgres", "data", "postmaster.pid"), "utf8")).split("\n")[0]),
  );
  try {
    // The service serves cached data until it detects that the listener is silent.
    await until(async () => (await readiness()) === 503, { what: "it is not ready" });
    expect(await askEverything(session)).toEqual({
      rest: 503,
      connect: "unavailable",
      grpc: "unavailable",
      legacy: 503,
      modern: 503,
      tokens: 503,
      login: 503,
    });
  } finally {
    thaw();
  }
  await until(async () => (await readiness()) === 200, { withinMs: 40_000, what: "it is ready again" });
  expect(await askEverything(session)).toEqual(before);
}, 120_000);

test("reports not ready when open database connections vanish silently, and recovers automatically", async () => {
  const session = await createWire(service.url, token).open();
  const before = await askEverything(session);
  proxy.stall();
  await until(async () => (await readiness()) === 503, { withinMs: 40_000, what: "it is not ready" });
  await until(async () => (await readiness()) === 200, { withinMs: 40_000, what: "it is ready again" });
  expect(await askEverything(session)).toEqual(before);
}, 120_000);
