import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject, JsonValue } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, OPERATIONS } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { readCaseFiles, type Step } from "./case.ts";
import { at } from "./match.ts";
import { checkOperations, play } from "./play.ts";

let database: TestDatabase;
let upstream: Upstream;
let locked: Upstream;
let service: Service;
let accounts: TestAccounts;
const given = new Map<string, JsonValue>();
const reasons = new Map<Step, string>();

beforeAll(async () => {
  database = await createTestDatabase();
  [upstream, locked] = await Promise.all([startUpstream(), startUpstream()]);
  locked.key = "right-key-of-the-locked-upstream";
  const silent = `127.0.0.1:${await freePort()}`;
  service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: `${upstream.host},${locked.host},${silent}` },
  });
  accounts = await openAccounts(service.env);

  const otherAccount = await accounts.create();
  const theirs = await createProtocolClient("rest", service.url).call("CreateConnection", {
    token: await otherAccount.token(),
    input: { server_type: "mcp", configuration: { url: upstream.url } },
  });
  const { server_id: foreign } = Object(theirs.body) as { server_id: string };
  given.set("foreign", foreign);
  const webhook = { url: "https://hooks.invalid/", event_types: ["connection.created"] };
  const ask = async (operation: string, input: JsonObject = { scopes: ["mcp.read"] }): Promise<JsonValue> => {
    return (
      await createProtocolClient("rest", service.url).call(operation, { token: await otherAccount.token(), input })
    ).body;
  };
  given.set("foreign_client", at(await ask("CreateOAuthClient"), "data.client_id") ?? "");
  given.set("foreign_token", at(await ask("CreatePersonalAccessToken"), "data.id") ?? "");
  given.set("foreign_webhook", at(await ask("CreateWebhook", webhook), "data.id") ?? "");
  await ask("CreateConnection", { server_type: "mcp", configuration: { url: upstream.url } });
  given.set("foreign_delivery", at(await ask("ListWebhookDeliveries", {}), "data.0.id") ?? "");
  given.set("missing", "2147483647");
  given.set("upstream", upstream.url);
  given.set("locked", locked.url);
  given.set("locked_key", locked.key);
  given.set("silent", `http://${silent}/mcp`);
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await Promise.all([upstream?.close(), locked?.close(), database?.close()]);
});

const files = readCaseFiles();

it("every operation of the contract has cases", () => {
  expect(files.map(({ operation }) => operation).toSorted()).toEqual([...OPERATIONS.keys()].toSorted());
});

describe.concurrent.each(files)("$operation", ({ cases }) => {
  describe.each(cases)("$title", (played) => {
    checkOperations(played);
    it.each(played.protocols)("over %s", async (protocol) => {
      await play(played, createProtocolClient(protocol, service.url), await accounts.create(), given, reasons);
    });
  });
});
