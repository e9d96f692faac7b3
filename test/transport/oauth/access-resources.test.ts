import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../../support/accounts.ts";
import { createProtocolClient, type ProtocolClient } from "../../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { createMasterKeys, type Service, startService } from "../../support/service.ts";
import { until } from "../../support/until.ts";

/** Two replicas of one service. The tests change an object through the first and read it through the second. */
let database: TestDatabase;
let replicas: readonly Service[];
let accounts: TestAccounts;
let here: ProtocolClient;
let there: ProtocolClient;

beforeAll(async () => {
  database = await createTestDatabase();
  const options = {
    databaseUrl: database.url,
    masterKeys: createMasterKeys(),
    env: { PUBLIC_URL: "http://patchbay.example.com:8080" },
  };
  replicas = await Promise.all([startService(options), startService(options)]);
  accounts = await openAccounts(service(0).env);
  here = createProtocolClient("rest", service(0).url);
  there = createProtocolClient("rest", service(1).url);
});

afterAll(async () => {
  await Promise.all((replicas ?? []).map((replica) => replica.stop()));
  await accounts?.close();
  await database?.close();
});

function service(index: number): Service {
  const replica = replicas[index];
  if (replica === undefined) throw new Error(`there is no replica ${index}`);
  return replica;
}

async function call(
  api: ProtocolClient,
  operation: string,
  token: string,
  input: JsonObject = {},
): Promise<JsonObject> {
  const outcome = await api.call(operation, { token, input });
  if (typeof outcome.status === "number" && outcome.status >= 300)
    throw new Error(`${operation}: ${outcome.status} ${outcome.message}`);
  return outcome.body as JsonObject;
}

const statusOf = async (token: string): Promise<unknown> => (await there.call("ListConnections", { token })).status;

const isRefused = async (token: string): Promise<void> => {
  await until(async () => (await statusOf(token)) === 401, { what: "the token is refused by the other replica" });
};

async function getToken(clientId: string, secret: string): Promise<{ status: number; token: string }> {
  const response = await fetch(`${service(1).url}/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${secret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const body = (await response.json()) as { access_token?: string };
  return { status: response.status, token: body.access_token ?? "" };
}

async function newClient(account: TestAccount): Promise<{ id: string; secret: string }> {
  const made = await call(here, "CreateOAuthClient", await account.token(), { scopes: ["mgmt.read"] });
  return { id: String((made["data"] as JsonObject)["client_id"]), secret: String(made["client_secret"]) };
}

async function newToken(account: TestAccount): Promise<{ id: string; text: string }> {
  const made = await call(here, "CreatePersonalAccessToken", await account.token(), { scopes: ["mgmt.read"] });
  return { id: String((made["data"] as JsonObject)["id"]), text: String(made["token"]) };
}

async function administrator(): Promise<{ account: TestAccount; token: string }> {
  const account = await accounts.create();
  return { account, token: await account.token("mgmt.admin") };
}

describe("OAuth client secrets", () => {
  test("keeps the previous secret valid during the grace period of a rotation", async () => {
    const account = await accounts.create();
    const { id, secret } = await newClient(account);
    const rotated = await call(here, "RotateOAuthClientSecret", await account.token(), { client_id: id });
    expect((await getToken(id, secret)).status).toBe(200);
    expect((await getToken(id, String(rotated["client_secret"]))).status).toBe(200);
    await accounts.query("update oauth_client set previous_secret_until = now() where id = $1", [id]);
    expect((await getToken(id, secret)).status).toBe(401);
    expect((await getToken(id, String(rotated["client_secret"]))).status).toBe(200);
  });

  test("rotation without a grace period rejects the old secret and the access tokens issued for it", async () => {
    const account = await accounts.create();
    const { id, secret } = await newClient(account);
    const { token } = await getToken(id, secret);
    expect(await statusOf(token)).toBe(200);
    const input = { client_id: id, grace_seconds: 0 };
    const rotated = await call(here, "RotateOAuthClientSecret", await account.token(), input);
    await isRefused(token);
    expect((await getToken(id, secret)).status).toBe(401);
    const { token: fresh } = await getToken(id, String(rotated["client_secret"]));
    expect(await statusOf(fresh)).toBe(200);
  });

  test("never returns a secret again, and rejects the secret and access tokens of a revoked client", async () => {
    const account = await accounts.create();
    const { id, secret } = await newClient(account);
    const { token } = await getToken(id, secret);
    const shown = await call(here, "GetOAuthClient", await account.token(), { client_id: id });
    expect(JSON.stringify(shown)).not.toContain(secret);
    await call(here, "RevokeOAuthClient", await account.token(), { client_id: id });
    await isRefused(token);
    expect((await getToken(id, secret)).status).toBe(401);
  });
});

describe("personal access tokens", () => {
  test("accepts a rotated personal access token only during its grace period", async () => {
    const account = await accounts.create();
    const { id, text } = await newToken(account);
    const rotated = await call(here, "RotatePersonalAccessToken", await account.token(), { token_id: id });
    expect(await statusOf(text)).toBe(200);
    expect(await statusOf(String(rotated["token"]))).toBe(200);
    // This replica has no cached entry for the token, so it reads the expiry from the database.
    const second = await newToken(account);
    await call(here, "RotatePersonalAccessToken", await account.token(), { token_id: second.id });
    await accounts.query("update personal_access_token set expires_at = now() where id = $1", [second.id]);
    expect(await statusOf(second.text)).toBe(401);
  });

  test("rotation without a grace period makes every replica reject the old token", async () => {
    const account = await accounts.create();
    const { id, text } = await newToken(account);
    expect(await statusOf(text)).toBe(200);
    const input = { token_id: id, grace_seconds: 0 };
    const rotated = await call(here, "RotatePersonalAccessToken", await account.token(), input);
    await isRefused(text);
    expect(await statusOf(String(rotated["token"]))).toBe(200);
  });

  test("keeps the MCP sessions of a rotated token, and deletes the sessions when its replacement is revoked", async () => {
    const account = await accounts.create();
    const made = await call(here, "CreatePersonalAccessToken", await account.token(), { scopes: ["mcp.read"] });
    const { id } = made["data"] as { id: string };
    const { sessionId } = await call(here, "Initialize", String(made["token"]));
    const rotated = await call(here, "RotatePersonalAccessToken", await account.token(), {
      token_id: id,
      grace_seconds: 0,
    });
    const headers = { "x-session-id": String(sessionId) };
    const token = String(rotated["token"]);
    expect((await here.call("ListTools", { token, headers })).status).toBe(200);
    const { id: fresh } = rotated["data"] as { id: string };
    await call(here, "RevokePersonalAccessToken", await account.token(), { token_id: fresh });
    expect(await accounts.query("select id from session where account_id = $1", [account.id])).toEqual([]);
  });

  test("reports the last use of a token without a database write per use", async () => {
    const account = await accounts.create();
    const { id, text } = await newToken(account);
    for (let uses = 0; uses < 5; uses += 1) expect(await statusOf(text)).toBe(200);
    const lastUse = async (): Promise<unknown> => {
      const { data } = await call(here, "GetPersonalAccessToken", await account.token(), { token_id: id });
      return (data as JsonObject)["last_used_at"];
    };
    const first = await until(lastUse, { what: "the use is written down", withinMs: 40_000, everyMs: 250 });
    const touched = await accounts.query("select xmin::text from personal_access_token where id = $1", [id]);
    for (let uses = 0; uses < 5; uses += 1) expect(await statusOf(text)).toBe(200);
    expect(await lastUse()).toBe(first);
    expect(await accounts.query("select xmin::text from personal_access_token where id = $1", [id])).toEqual(touched);
  });
});

describe("OAuth grants", () => {
  test("lists a grant with its connections and revokes the grant", async () => {
    const account = await accounts.create();
    const id = `grant_${randomBytes(16).toString("base64url")}`;
    await accounts.query(
      `insert into oauth_grant (account_id, id, client_id, client_name, redirect_uri, scopes, resource, connection_ids)
       values ($1, $2, 'client_x', 'Acme desk', 'https://desk.example.com/', '{mcp.read}', 'http://patchbay.example.com:8080/mcp', '{1,3}')`,
      [account.id, id],
    );
    const listed = await call(there, "ListGrants", await account.token());
    expect(listed["data"]).toMatchObject([
      { id, client_name: "Acme desk", all_connections: false, mcp_server_ids: [1, 3], scopes: ["mcp.read"] },
    ]);
    const bound = await accounts.forge(account, { mcp_server_id: 1 });
    expect((await call(there, "ListGrants", bound))["data"]).toEqual([]);
    await call(here, "RevokeGrant", await account.token(), { grant_id: id });
    expect((await call(there, "ListGrants", await account.token()))["data"]).toEqual([]);
    const { data } = await call(there, "ListAuditEvents", await account.token(), { object_type: "grant" });
    expect(data).toMatchObject([{ action: "grant.revoke", object_id: id, object_name: "Acme desk" }]);
  });
});

describe("accounts", () => {
  test("accepts personal access tokens again after an account is re-enabled, but rejects access tokens issued earlier", async () => {
    const { token: admin } = await administrator();
    const account = await accounts.create();
    const client = await account.client("mgmt.read");
    const { token: access } = await getToken(client.clientId, client.clientSecret);
    const personal = await account.token();
    expect([await statusOf(access), await statusOf(personal)]).toEqual([200, 200]);
    await call(here, "DisableAccount", admin, { account_id: account.id });
    await Promise.all([isRefused(access), isRefused(personal)]);
    expect((await getToken(client.clientId, client.clientSecret)).status).toBe(401);
    await call(here, "EnableAccount", admin, { account_id: account.id });
    await until(async () => (await statusOf(personal)) === 200, { what: "the token is accepted again" });
    expect(await statusOf(access)).toBe(401);
    const { token: fresh } = await getToken(client.clientId, client.clientSecret);
    expect(await statusOf(fresh)).toBe(200);
  });

  test("ending the sessions of an account keeps its clients and personal access tokens valid", async () => {
    const { token: admin } = await administrator();
    const account = await accounts.create();
    const client = await account.client("mgmt.read");
    const { token: access } = await getToken(client.clientId, client.clientSecret);
    const personal = await account.token();
    await call(here, "Initialize", personal);
    await call(here, "EndAccountSessions", admin, { account_id: account.id });
    await isRefused(access);
    expect(await statusOf(personal)).toBe(200);
    expect(await accounts.query("select id from session where account_id = $1", [account.id])).toEqual([]);
    const { token: fresh } = await getToken(client.clientId, client.clientSecret);
    expect(await statusOf(fresh)).toBe(200);
  });

  test("purging an account deletes all its data except the audit event of the purge, which names the administrator", async () => {
    const { account: adminAccount, token: admin } = await administrator();
    const account = await accounts.create();
    const personal = await account.token();
    await newClient(account);
    const input = { server_type: "bamboohr", configuration: { company_domain: "acme", api_token: "a-key" } };
    await call(here, "CreateConnection", personal, input);
    // An audit event of an action by this account on an object that belongs to the installation.
    await accounts.query(
      `insert into audit_event (account_id, action, actor_kind, actor_account_id, address, user_agent, object_type, object_id)
       values ('installation', 'signing_key.rotate', 'account', $1, '192.0.2.1', 'a browser', 'signing_key', 'k')`,
      [account.id],
    );
    await call(here, "DisableAccount", admin, { account_id: account.id });
    await call(here, "PurgeAccount", admin, { account_id: account.id });
    await isRefused(personal);
    const tables = await accounts.query(
      `select table_name from information_schema.columns where table_schema = 'public' and column_name = 'account_id'
         and table_name not in ('revocation', 'connection_tombstone')`,
    );
    expect(tables.length).toBeGreaterThan(8);
    for (const { table_name: table } of tables) {
      const rows = await accounts.query(`select * from "${String(table)}" where account_id = $1`, [account.id]);
      expect([table, rows]).toEqual([table, []]);
    }
    const left = await accounts.query("select address, user_agent from audit_event where actor_account_id = $1", [
      account.id,
    ]);
    expect(left).toEqual([{ address: "", user_agent: "" }]);
    const { data } = await call(here, "ListAllAuditEvents", admin, { action: "account.purge", object_id: account.id });
    expect(data).toMatchObject([{ account_id: "installation", actor_account_id: adminAccount.id, object_name: "" }]);
  });
});
