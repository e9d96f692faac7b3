import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let rest: ProtocolClient;
let account: TestAccount;
let token: string;

beforeAll(async () => {
  database = await createTestDatabase();
  service = await startService({ databaseUrl: database.url });
  accounts = await openAccounts(service.env);
  rest = createProtocolClient("rest", service.url);
  account = await accounts.create();
  token = await account.token();
});

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await database?.close();
});

async function call(operation: string, input: JsonObject, bearer = token, headers = {}): Promise<JsonObject> {
  const outcome = await rest.call(operation, { token: bearer, input, headers });
  return outcome.body as JsonObject;
}

async function eventsOf(accountId: string, action?: string): Promise<readonly Record<string, unknown>[]> {
  return accounts.query(
    "select * from audit_event where account_id = $1 and ($2::text is null or action = $2) order by occurred_at, id",
    [accountId, action ?? null],
  );
}

async function askToken(clientId: string, secret: string): Promise<number> {
  const response = await fetch(`${service.url}/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}`, "user-agent": "reporter/1.0" },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  await response.body?.cancel();
  return response.status;
}

test("the audit log never contains a secret", async () => {
  const canary = `canary${randomBytes(16).toString("hex")}`;
  const made = await call("CreateConnection", {
    server_type: "bamboohr",
    configuration: { company_domain: "acme", api_token: canary },
  });
  const id = String(made["server_id"]);
  const secret = `${canary}${"x".repeat(40)}`;
  await call("UpdateConnection", { server_id: id, api_key: `${canary}2`, oauth2_client_secret: secret });
  await call("UpdateConnection", { server_id: id, config: { company_domain: "other", api_token: `${canary}3` } });
  const client = await call("CreateOAuthClient", { scopes: ["mgmt.read"] });
  const clientId = String((client["data"] as JsonObject)["client_id"]);
  const rotated = await call("RotateOAuthClientSecret", { client_id: clientId });
  const personal = await call("CreatePersonalAccessToken", { scopes: ["mgmt.read"] });
  await askToken(clientId, String(client["client_secret"]));
  await askToken(clientId, `${canary}wrong`);
  await service.command("account", "create", "--email", "audit-canary@example.com");
  await until(async () => (await eventsOf(account.id, "token.issue")).length === 2, { what: "tokens in the log" });
  const [row] = await accounts.query("select string_agg(event::text, '') as text from audit_event as event");
  const text = String(row?.["text"]);
  expect(text).toContain(clientId);
  for (const hidden of [canary, client["client_secret"], rotated["client_secret"], personal["token"], token])
    expect(text).not.toContain(String(hidden));
});

test("a change and its audit event are stored together or not at all", async () => {
  const owner = await accounts.create();
  const bearer = await owner.token();
  await call("CreateOAuthClient", { scopes: ["mgmt.everything"] }, bearer);
  expect(await eventsOf(owner.id, "oauth_client.create")).toEqual([]);
  await accounts.query(
    "alter table audit_event add constraint no_clients check (action <> 'oauth_client.create') not valid",
  );
  try {
    const outcome = await rest.call("CreateOAuthClient", { token: bearer, input: { scopes: ["mgmt.read"] } });
    expect(outcome.status).toBe(500);
    expect(await accounts.query("select id from oauth_client where account_id = $1", [owner.id])).toEqual([]);
  } finally {
    await accounts.query("alter table audit_event drop constraint no_clients");
  }
});

test.each([
  "update audit_event set actor_account_id = 'somebody else'",
  "delete from audit_event",
  "truncate audit_event",
])("the audit log rejects the statement: %s", async (statement) => {
  await expect(accounts.query(statement)).rejects.toThrow("the audit log is append-only");
});

test("a client's tokens and its failures each produce one event per hour and address", async () => {
  const owner = await accounts.create();
  const { clientId, clientSecret } = await owner.client("mgmt.read");
  for (let times = 0; times < 5; times += 1) expect(await askToken(clientId, clientSecret)).toBe(200);
  for (let times = 0; times < 3; times += 1) expect(await askToken(clientId, "wrong")).toBe(401);
  const events = await until(
    async () => {
      const found = await eventsOf(owner.id, "token.issue");
      return found.length === 2 && found;
    },
    { what: "both events" },
  );
  expect(events.map(({ outcome }) => outcome).toSorted()).toEqual(["ok", "refused"]);
  expect(events).toMatchObject([
    { actor_client_id: clientId, address: "127.0.0.1", user_agent: "reporter/1.0" },
    { actor_client_id: clientId },
  ]);
});

test("records commands of the operator with the actor operator", async () => {
  const { account_id: id } = await service.command("account", "create", "--email", "by-operator@example.com");
  await service.command("account", "disable", "--email", "by-operator@example.com");
  expect(await eventsOf(String(id))).toMatchObject([
    {
      action: "account.create",
      actor_kind: "operator",
      actor_account_id: null,
      object_name: "by-operator@example.com",
    },
    { action: "account.disable", actor_kind: "operator" },
  ]);
  await service.command("keys", "rewrap");
  expect(await eventsOf("installation", "master_key.rewrap")).toMatchObject([
    { actor_kind: "operator", outcome: "ok" },
  ]);
});

test("cuts a long user agent and removes control characters", async () => {
  const owner = await accounts.create();
  const headers = { "user-agent": "u".repeat(300) };
  await call("CreateOAuthClient", { scopes: ["mgmt.read"] }, await owner.token(), headers);
  const [event] = await eventsOf(owner.id, "oauth_client.create");
  expect(event?.["user_agent"]).toBe("u".repeat(200));
});

test("records the caller's address over gRPC", async () => {
  const owner = await accounts.create();
  const bearer = await owner.token();
  for (const api of ["grpc", "grpc-web", "connect"] as const)
    await createProtocolClient(api, service.url).call("CreateOAuthClient", {
      token: bearer,
      input: { scopes: ["mgmt.read"] },
    });
  const events = await eventsOf(owner.id, "oauth_client.create");
  expect(events.map(({ address }) => address)).toEqual(["127.0.0.1", "127.0.0.1", "127.0.0.1"]);
});
