import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import type { JsonObject } from "../../src/json.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { followAuthorization, logInPerson, type LoggedIn } from "../support/authorize.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../support/oauth-upstream.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createMasterKeys, type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { watchRest } from "../support/watch.ts";

let database: TestDatabase;
let upstream: OAuthUpstream;
let here: Service;
let there: Service;
let accounts: TestAccounts;
let person: LoggedIn;
let owner: Owner;
let elsewhere: Owner;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startOAuthUpstream()]);
  const shared = { databaseUrl: database.url, masterKeys: createMasterKeys() };
  const env = { OUTBOUND_ALLOW: upstream.hosts.join(",") };
  here = await startService({ ...shared, env });
  there = await startService({ ...shared, env: { ...env, PUBLIC_URL: here.url } });
  accounts = await openAccounts(here.env);
  person = await logInPerson(here, "ada@example.com");
  const { token } = await here.command(
    ...["pat", "create", "--account", person.email, "--scope", "mgmt.read mgmt.write mcp.read mcp.write"],
  );
  owner = createOwner(createProtocolClient("rest", here.url), String(token));
  elsewhere = createOwner(createProtocolClient("rest", there.url), String(token));
}, 120_000);

afterAll(async () => {
  await Promise.all([here?.stop(), there?.stop()]);
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});
afterEach(() => {
  upstream.vendor.beforeAnswer = undefined;
  upstream.vendor.answerToken = undefined;
  upstream.vendor.rotates = true;
  upstream.vendor.givesRefreshTokens = true;
  upstream.vendor.ttl.accessToken = 3_600;
});

/** A connection that the person authorized and whose tools are listed. */
async function authorized(): Promise<string> {
  const created = await owner.call("CreateConnection", {
    server_type: "mcp",
    auth_method: "oauth2",
    configuration: { url: upstream.url },
  });
  expect(created).toMatchObject({ status: "needs_authorization" });
  const id = String(created["server_id"]);
  await followAuthorization(person.browser, upstream.vendor, String(created["authorization_url"]));
  await owner.waitFor(id, "verified");
  return id;
}

async function authorizeAgain(id: string): Promise<void> {
  const { data } = await owner.call("AuthorizeConnection", { server_id: id });
  const { authorization_url: address } = data as JsonObject;
  await followAuthorization(person.browser, upstream.vendor, String(address));
}

async function connection(id: string): Promise<JsonObject> {
  return (await owner.call("GetConnection", { server_id: id, view: "detailed" }))["connection"] as JsonObject;
}

/** The text and `isError` of a call through a connection. */
async function call(
  by: Owner,
  session: Readonly<Record<string, string>>,
  id: string,
  name: string,
  args: JsonObject = {},
) {
  const result = await by.call("CallTool", { name: `${name}__${id}`, arguments: args }, session);
  const [block] = result["content"] as { text: string }[];
  return { isError: result["isError"] === true, text: block?.text ?? "" };
}

async function statusBecomes(id: string, status: string): Promise<JsonObject> {
  return until(
    async () => {
      const found = await connection(id);
      expect(found).toMatchObject({ status });
      return found;
    },
    { what: `connection ${id} is ${status}` },
  );
}

describe("a connection whose owner logged in at the vendor", () => {
  test("works on every replica, and refreshes the token once for 50 calls at the time of expiry", async () => {
    const id = await authorized();
    const sessions = [await owner.open(), await elsewhere.open()] as const;
    expect(await call(owner, sessions[0], id, "whoami")).toEqual({ isError: false, text: "Vera" });
    expect(await call(elsewhere, sessions[1], id, "whoami")).toEqual({ isError: false, text: "Vera" });
    const before = upstream.vendor.refreshes();
    upstream.vendor.expireTokens();
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, index) =>
        index % 2 === 0
          ? call(owner, sessions[0], id, "echo", { text: String(index) })
          : call(elsewhere, sessions[1], id, "echo", { text: String(index) }),
      ),
    );
    expect(results.filter(({ isError }) => isError)).toEqual([]);
    expect(upstream.vendor.refreshes() - before).toBe(1);
  });

  test("needs authorization after the vendor revoked it, and works again after a new one", async () => {
    const id = await authorized();
    const session = await owner.open();
    const watch = watchRest(there.url, owner.token, id);
    expect(await call(owner, session, id, "whoami")).toEqual({ isError: false, text: "Vera" });
    upstream.vendor.endGrants();
    const refused = await call(owner, session, id, "whoami");
    expect(refused.isError).toBe(true);
    expect(refused.text).toMatch(/authorize the connection again/i);
    await watch.event(
      (event) => JSON.stringify(event).includes('"api_key_verification_status":"failed"'),
      "the failed verification",
    );
    watch.close();
    await statusBecomes(id, "needs_authorization");
    const names = await owner.toolNames(id);
    await authorizeAgain(id);
    await owner.waitFor(id, "verified");
    expect(await connection(id)).toMatchObject({ status: "active" });
    expect(await owner.toolNames(id)).toEqual(names);
    expect(await call(owner, session, id, "whoami")).toEqual({ isError: false, text: "Vera" });
  });

  test("keeps its authorization while the token endpoint is down, and reports the problem", async () => {
    const id = await authorized();
    const session = await owner.open();
    upstream.vendor.expireTokens();
    upstream.vendor.answerToken = (_request, response) => {
      response.writeHead(503).end("down for maintenance");
      return true;
    };
    const failed = await call(owner, session, id, "whoami");
    expect(failed.isError).toBe(true);
    expect(failed.text).toMatch(/503/);
    expect(await connection(id)).toMatchObject({ status: "active" });
    upstream.vendor.answerToken = undefined;
    await until(async () => !(await call(owner, session, id, "whoami")).isError, {
      what: "it works again",
      everyMs: 500,
    });
  });

  test("asks the owner for a scope that a call lacked, and stays usable meanwhile", async () => {
    const id = await authorized();
    const session = await owner.open();
    const refused = await call(owner, session, id, "administer");
    expect(refused.isError).toBe(true);
    expect(refused.text).toMatch(/tools\.admin/);
    const found = await statusBecomes(id, "needs_authorization");
    expect(found["status_reason"]).toMatch(/tools\.admin/);
    expect(await call(owner, session, id, "whoami")).toEqual({ isError: false, text: "Vera" });
    await authorizeAgain(id);
    expect(upstream.vendor.authorizations.at(-1)?.get("scope")?.split(" ")).toEqual(
      expect.arrayContaining(["tools.read", "tools.admin"]),
    );
    await owner.waitFor(id, "verified");
    expect(await connection(id)).toMatchObject({ status: "active" });
    expect(await call(owner, session, id, "administer")).toMatchObject({ isError: false });
  });

  test("waits for the login if it was created without a key and the server requires one", async () => {
    const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url } });
    const found = await statusBecomes(id, "needs_authorization");
    expect(found).toMatchObject({ auth_method: "oauth2" });
    expect(found["status_reason"]).toMatch(/asks for a login: authorize the connection/);
    await authorizeAgain(id);
    await owner.waitFor(id, "verified");
    expect(await call(owner, await owner.open(), id, "whoami")).toEqual({ isError: false, text: "Vera" });
  });

  test("needs authorization when its token expires without a refresh token", async () => {
    upstream.vendor.givesRefreshTokens = false;
    const id = await authorized();
    const session = await owner.open();
    expect(await call(owner, session, id, "whoami")).toEqual({ isError: false, text: "Vera" });
    upstream.vendor.expireTokens();
    expect((await call(owner, session, id, "whoami")).text).toMatch(/authorize the connection again/i);
    await statusBecomes(id, "needs_authorization");
  });

  test("has its tokens revoked at the vendor when it is deleted", async () => {
    const id = await authorized();
    const session = await owner.open();
    await call(owner, session, id, "whoami");
    const before = upstream.vendor.revocations.length;
    await owner.call("DeleteConnection", { server_id: id });
    await until(async () => upstream.vendor.revocations.length === before + 2, { what: "both tokens are revoked" });
    await until(async () => upstream.vendor.revocations.every(({ status }) => status === 200));
    await until(
      async () => {
        const rows = await accounts.query("select 1 from connection_grant where connection_id = $1", [Number(id)]);
        return rows.length === 0;
      },
      { what: "nothing of them is kept" },
    );
  });

  test.each([
    ["recovers where the vendor lets a refresh token be used again", false],
    ["says that it must be authorized again where the vendor does not", true],
  ])("whose replica is killed between the vendor's response and the commit %s", async (_, rotates) => {
    const id = await authorized();
    upstream.vendor.rotates = rotates;
    const session = await elsewhere.open();
    await call(elsewhere, session, id, "whoami");
    upstream.vendor.expireTokens();
    let isAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const stalled = new Promise<"drop">((resolve) => {
      upstream.vendor.beforeAnswer = () => {
        upstream.vendor.beforeAnswer = undefined;
        isAsked();
        return stalled;
      };
      void asked.then(() => there.kill()).then(() => resolve("drop"));
    });
    const lost = call(elsewhere, session, id, "whoami").catch(() => undefined);
    await asked;
    await stalled;
    await lost;
    const again = await owner.open();
    const first = await call(owner, again, id, "whoami");
    expect(first).toMatchObject(rotates ? { isError: true } : { isError: false, text: "Vera" });
    expect(await connection(id)).toMatchObject({ status: rotates ? "needs_authorization" : "active" });
    if (rotates) expect(first.text).toMatch(/authorize the connection again/i);
    await there.start();
    expect((await call(elsewhere, await elsewhere.open(), id, "whoami")).isError).toBe(rotates);
  });
});

test("no token appears in logs, responses, the audit log or in plain text in the database", async () => {
  const secrets = [...upstream.vendor.secrets].filter((secret) => secret.length > 8);
  expect(secrets.length).toBeGreaterThan(10);
  const answers: unknown[] = [];
  for (const operation of ["ListConnections", "ListIntegrations", "ListCalls", "ListAuditEvents"])
    answers.push(await owner.call(operation, operation === "ListCalls" ? { server_id: await authorized() } : {}));
  const tables = await accounts.query(
    "select table_schema || '.' || quote_ident(table_name) as name from information_schema.tables where table_schema in ('public', 'pgboss') and table_type = 'BASE TABLE'",
  );
  const rows: unknown[] = [];
  for (const { name } of tables) rows.push(await accounts.query(`select t::text from ${String(name)} t`));
  const everything = [here.output(), there.output(), JSON.stringify(answers), JSON.stringify(rows)];
  const leaked = secrets.filter((secret) => everything.some((text) => text.includes(secret)));
  expect(leaked).toEqual([]);
});
