import { pino } from "pino";
import type { Dispatcher } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createApp } from "../../src/app/app.ts";
import { readConfig } from "../../src/config.ts";
import { createGuardedDispatcher } from "../../src/outbound/guarded-dispatcher.ts";
import type { JsonObject } from "../../src/json.ts";
import {
  loadOperatorIntegration,
  OPERATOR_CLIENT,
  operatorContract,
  type SeenCall,
  startOperatorVendor,
} from "../integrations/openapi/operator-contract.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys } from "../support/service.ts";
import { until } from "../support/until.ts";
import type { Vendor } from "../support/vendor.ts";

let database: TestDatabase;
let vendor: Vendor;
let called: SeenCall[];
let dispatcher: Dispatcher;
let app: Awaited<ReturnType<typeof createApp>>;
let accounts: TestAccounts;
let client: ProtocolClient;
let written = "";

beforeAll(async () => {
  database = await createTestDatabase();
  ({ vendor, called } = await startOperatorVendor());
  dispatcher = createGuardedDispatcher({ allow: [vendor.host] });
  const port = await freePort();
  const env = { DATABASE_URL: database.url, PATCHBAY_KEYS: createMasterKeys(), PORT: String(port) };
  const log = pino({ level: "trace" }, { write: (line) => void (written += line) });
  const acme = await loadOperatorIntegration(operatorContract(), dispatcher, { baseUrl: vendor.origin });
  app = await createApp(readConfig(env), log, [acme]);
  await app.listen();
  accounts = await openAccounts(env);
  client = createProtocolClient("rest", `http://127.0.0.1:${port}`);
});

afterAll(async () => {
  await accounts?.close();
  await app?.close();
  await dispatcher?.destroy();
  await Promise.all([vendor?.close(), database?.close()]);
});

async function newOwner(): Promise<Owner> {
  return createOwner(client, await (await accounts.create()).token());
}

const WISH = { server_type: "acme", auth_method: "oauth2", configuration: { site: "blue" } };

test("the operator's client authorizes a connection without a login, until a key replaces it", async () => {
  const owner = await newOwner();
  const catalog = (await owner.call("ListIntegrations")) as { data: { server_type: string; auth_methods: string[] }[] };
  const offered = catalog.data.find(({ server_type }) => server_type === "acme");
  expect(offered?.auth_methods).toEqual(["none", "api_key", "oauth2"]);

  const created = await owner.call("CreateConnection", WISH);
  expect(created).toMatchObject({ status: "active" });
  expect(created).not.toHaveProperty("authorization_url");
  const id = String(created["server_id"]);
  await owner.waitFor(id, "verified");
  const details = async () =>
    (await owner.call("GetConnection", { server_id: id, view: "detailed" }))["connection"] as JsonObject;
  expect(await details()).toMatchObject({ status: "active", auth_method: "oauth2" });

  const session = await owner.open();
  const call = async () => JSON.stringify(await owner.call("CallTool", { name: "me", arguments: {} }, session));
  const first = await call();
  expect(first).toContain(OPERATOR_CLIENT.clientId);
  vendor.expireTokens();
  const renewed = await call();
  expect(renewed).toContain(OPERATOR_CLIENT.clientId);

  const authorize = { input: { server_id: id }, token: owner.token };
  const refused = await client.call("AuthorizeConnection", authorize);
  expect(refused).toMatchObject({
    status: 400,
    message:
      "Connections of type acme need no login: with auth_method oauth2 a client of this installation authorizes them.",
  });

  await owner.call("UpdateConnection", { server_id: id, api_key: "the-key" });
  await owner.waitFor(id, "verified");
  await until(async () => (await call()).includes('\\"key\\"'), { what: "the key is used" });
  expect(called.at(-1)).toMatchObject({ subject: "key" });
  expect(await details()).toMatchObject({ status: "active", auth_method: "api_key" });

  const said = [first, renewed, JSON.stringify([created, refused, catalog, await details()]), written].join("\n");
  for (const secret of [...vendor.secrets, OPERATOR_CLIENT.clientSecret]) expect(said).not.toContain(secret);
  const kept = JSON.stringify(await accounts.query("select * from connection"));
  expect(kept).not.toContain("canary");
});

test("another tenant is verified with the same client and without a login", async () => {
  const owner = await newOwner();
  const id = await owner.create({ ...WISH, configuration: { site: "green" } });
  const reason = async () =>
    ((await owner.call("GetConnection", { server_id: id, view: "detailed" }))["connection"] as JsonObject)[
      "status_reason"
    ];
  await until(async () => (await reason()) !== undefined, { what: "the wrong tenant is refused" });
  expect(await reason()).toContain("The token endpoint of Acme");
  await owner.call("UpdateConnection", { server_id: id, config: { site: "blue" } });
  await owner.waitFor(id, "verified");
  const { connection } = await owner.call("GetConnection", { server_id: id, view: "detailed" });
  expect(connection).toMatchObject({ status: "active", auth_method: "oauth2" });
});

test("rejects a key at creation, and names the setting if no client is configured", async () => {
  const owner = await newOwner();
  const refusal = async (input: JsonObject) => {
    const { status, message } = await client.call("CreateConnection", { input, token: owner.token });
    return `${status} ${message}`;
  };
  expect(await refusal({ ...WISH, configuration: { site: "blue", api_token: "the-key" } })).toBe(
    "400 auth_method oauth2 takes no key: leave configuration.api_token out.",
  );
  expect(await refusal({ server_type: "github", auth_method: "oauth2" })).toBe(
    "400 auth_method: connections of type github cannot be authorized by OAuth here; possible is api_key. " +
      "The operator can enable it with a client in INTEGRATION_OAUTH_CLIENTS.",
  );
});
