import { createHash, randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Role } from "../../src/identity/organizations/role.ts";
import { type Person, type Site, startSite } from "../identity/login/site.ts";
import { type FormBrowser, formsOf, fromOwnPage } from "../support/form-browser.ts";
import { until } from "../support/until.ts";

let site: Site;
let replica: string;

beforeAll(async () => {
  site = await startSite();
  replica = await site.replica();
});
afterAll(() => site.close());

interface Someone {
  readonly browser: FormBrowser;
  readonly person: Person;
}

async function send(method: string, path: string, token: string, body?: object, url = site.url) {
  const response = await fetch(url + path, {
    method,
    headers: { authorization: `Bearer ${token}`, ...(body !== undefined && { "content-type": "application/json" }) },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    body: (await response.json()) as { data: Record<string, unknown>; detail: string },
  };
}

/** The token of a login session, for the person's own account or for an organization. */
async function tokenFor({ browser }: Someone, accountId?: string): Promise<string> {
  const headers = { ...fromOwnPage(site.url), "content-type": "application/json" };
  const { status, text } = await browser.send(
    "POST",
    "/session/token",
    headers,
    JSON.stringify({ account_id: accountId }),
  );
  expect([status, text]).toEqual([200, expect.any(String)]);
  return (JSON.parse(text) as { access_token: string }).access_token;
}

function claimsOf(token: string): Record<string, unknown> {
  return JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

async function createOrganization(owner: Someone): Promise<string> {
  const { status, body } = await send("POST", "/api/v1/organizations", await tokenFor(owner), { name: "Acme" });
  expect(status).toBe(201);
  return String(body.data["id"]);
}

async function join(organizationId: string, { person }: Someone, role: Role): Promise<void> {
  expect(await site.foundation.memberStore.addMember(organizationId, person.accountId, role, OPERATOR)).toBe("joined");
}

async function statusOf(token: string, url: string, path = "/api/v1/mcp-servers"): Promise<number> {
  return (await send("GET", path, token, undefined, url)).status;
}

/** Waits until both replicas return the status. */
async function expectEverywhere(token: string, status: number, path?: string): Promise<void> {
  for (const url of [site.url, replica])
    await until(async () => (await statusOf(token, url, path)) === status, { what: `${status} at ${url}` });
}

const BAMBOO = { server_type: "bamboohr", configuration: { company_domain: "acme" } };

describe("acting for an organization", () => {
  test("a token names the organization and the person, and the audit log names the person", async () => {
    const owner = await site.loggedIn();
    const id = await createOrganization(owner);
    const token = await tokenFor(owner, id);
    expect(claimsOf(token)).toMatchObject({ sub: id, act: { sub: owner.person.accountId } });
    expect(claimsOf(token)["scopes"]).not.toContain("mgmt.admin");
    expect((await send("POST", "/api/v1/mcp-servers", token, BAMBOO)).status).toBe(201);
    const { body } = await send("GET", "/api/v1/audit-events?action=connection.create", token);
    expect(body.data).toMatchObject([{ actor_account_id: owner.person.accountId, account_id: id }]);
  });

  test("a token for a person's own account has no act claim", async () => {
    const owner = await site.loggedIn();
    await createOrganization(owner);
    const claims = claimsOf(await tokenFor(owner));
    expect(claims["sub"]).toBe(owner.person.accountId);
    expect(claims).not.toHaveProperty("act");
  });

  test("nobody acts for an organization of others", async () => {
    const [owner, stranger] = [await site.loggedIn(), await site.loggedIn()];
    const id = await createOrganization(owner);
    const headers = { ...fromOwnPage(site.url), "content-type": "application/json" };
    const answer = await stranger.browser.send("POST", "/session/token", headers, JSON.stringify({ account_id: id }));
    expect([answer.status, JSON.parse(answer.text)]).toMatchObject([400, { field: "account_id" }]);
  });

  test("personal connections and those of the organization are apart", async () => {
    const owner = await site.loggedIn();
    const id = await createOrganization(owner);
    const [own, shared] = [await tokenFor(owner), await tokenFor(owner, id)];
    const personal = await send("POST", "/api/v1/mcp-servers", own, BAMBOO);
    const common = await send("POST", "/api/v1/mcp-servers", shared, BAMBOO);
    const pathOf = ({ body }: { body: object }): string =>
      `/api/v1/mcp-servers/${(body as { server_id: string }).server_id}`;
    expect(await statusOf(shared, site.url, pathOf(personal))).toBe(404);
    expect(await statusOf(own, site.url, pathOf(common))).toBe(404);
    expect((await send("GET", "/api/v1/mcp-servers", shared)).body.data).toHaveLength(1);
  });

  test("a person chooses the account on the consent page", async () => {
    const owner = await site.loggedIn();
    const id = await createOrganization(owner);
    const { form, redeem } = await openConsent(owner);
    const choices = [...form.html.matchAll(/<option value="([^"]+)"/g)].map(([, value]) => value);
    expect(choices).toEqual([owner.person.accountId, id]);
    const token = await redeem({ decision: "approve", account: id, reach: "all" });
    expect(claimsOf(token)).toMatchObject({ sub: id, act: { sub: owner.person.accountId } });
    const { body } = await send("GET", "/api/v1/grants", await tokenFor(owner, id));
    expect(body.data).toHaveLength(1);
    expect((await send("GET", "/api/v1/grants", await tokenFor(owner))).body.data).toEqual([]);
  });
});

describe("a member who is removed", () => {
  test("loses every token in the organization on every replica, also after joining again", async () => {
    const [owner, member] = [await site.loggedIn(), await site.loggedIn()];
    const id = await createOrganization(owner);
    await join(id, member, "admin");
    const session = await tokenFor(member, id);
    const created = await send("POST", "/api/v1/personal-access-tokens", session, { scopes: ["mgmt.read"] });
    const personal = (created.body as unknown as { token: string }).token;
    expect(claimsOf(personal)).toMatchObject({ sub: id, act: { sub: member.person.accountId }, token_type: "pat" });
    await expectEverywhere(session, 200);
    await expectEverywhere(personal, 200);

    const path = `/api/v1/organizations/${id}/members/${member.person.accountId}`;
    expect((await send("DELETE", path, await tokenFor(owner))).status).toBe(200);
    expect(await statusOf(session, site.url)).toBe(401);
    await expectEverywhere(session, 401);
    await expectEverywhere(personal, 401);

    await join(id, member, "member");
    await expectEverywhere(await tokenFor(member, id), 200);
    await expectEverywhere(session, 401);
    await expectEverywhere(personal, 401);
  });

  test("loses grants with their refresh tokens, clients and sessions, and keeps the own account", async () => {
    const [owner, member] = [await site.loggedIn(), await site.loggedIn()];
    const id = await createOrganization(owner);
    await join(id, member, "member");
    const { redeem } = await openConsent(member);
    const granted = await redeem({ decision: "approve", account: id, reach: "all" });
    const token = await tokenFor(member, id);
    const made = await send("POST", "/api/v1/oauth-clients", token, { scopes: ["mgmt.read"] });
    expect(made.status).toBe(201);
    expect((await send("POST", "/mcp/initialize", token, { protocolVersion: "2025-03-26" })).status).toBe(200);
    const own = await tokenFor(member);

    const path = `/api/v1/organizations/${id}/members/${member.person.accountId}`;
    // Leaving is removing oneself.
    expect((await send("DELETE", path, own)).status).toBe(200);
    await expectEverywhere(granted, 401, "/api/v1/organizations");
    const left = await site.query(
      `select (select count(*) from session where account_id = $1) + (select count(*) from oauth_grant where account_id = $1
        and revoked_at is null) + (select count(*) from oauth_client where account_id = $1 and revoked_at is null)
        + (select count(*) from oidc_payload join oauth_grant on oauth_grant.id = grant_id where account_id = $1) as count`,
      [id],
    );
    expect(left).toEqual([{ count: 0 }]);
    await expectEverywhere(own, 200);
  });

  test("ends an open stream of events", async () => {
    const [owner, member] = [await site.loggedIn(), await site.loggedIn()];
    const id = await createOrganization(owner);
    await join(id, member, "admin");
    const token = await tokenFor(member, id);
    const headers = { authorization: `Bearer ${token}` };
    const stream = await fetch(`${replica}/api/v1/mcp-servers/events`, { headers });
    expect(stream.status).toBe(200);
    const path = `/api/v1/organizations/${id}/members/${member.person.accountId}`;
    expect((await send("DELETE", path, await tokenFor(owner))).status).toBe(200);
    expect(await stream.text()).toContain("event: error");
  });
});

test("a role applies to existing tokens on every replica", async () => {
  const [owner, member] = [await site.loggedIn(), await site.loggedIn()];
  const id = await createOrganization(owner);
  await join(id, member, "admin");
  const token = await tokenFor(member, id);
  const created = await send("POST", "/api/v1/mcp-servers", token, BAMBOO);
  const { server_id: serverId } = created.body as unknown as { server_id: string };
  const connection = `/api/v1/mcp-servers/${serverId}`;
  await expectEverywhere(token, 200, connection);
  const path = `/api/v1/organizations/${id}/members/${member.person.accountId}`;
  expect((await send("PUT", path, await tokenFor(owner), { role: "member" })).status).toBe(200);
  await expectEverywhere(token, 404, connection);
  expect((await send("POST", "/api/v1/mcp-servers", token, BAMBOO)).status).toBe(403);
});

test("a disabled person loses the tokens in organizations", async () => {
  const [owner, member] = [await site.loggedIn(), await site.loggedIn()];
  const id = await createOrganization(owner);
  await join(id, member, "admin");
  const token = await tokenFor(member, id);
  await expectEverywhere(token, 200);
  await site.foundation.accounts.disable(member.person.accountId);
  await expectEverywhere(token, 401);
});

test("a deleted organization leaves nothing but tombstones, revocations and the event of the installation", async () => {
  const owner = await site.loggedIn();
  const id = await createOrganization(owner);
  const token = await tokenFor(owner, id);
  expect((await send("POST", "/api/v1/mcp-servers", token, BAMBOO)).status).toBe(201);
  expect((await send("POST", "/api/v1/oauth-clients", token, { scopes: ["mgmt.read"] })).status).toBe(201);
  expect((await send("DELETE", `/api/v1/organizations/${id}`, await tokenFor(owner))).status).toBe(200);
  await expectEverywhere(token, 401);

  const tables = await site.query(
    `select table_name as name from information_schema.columns where table_schema = 'public' and column_name = 'account_id'`,
  );
  await until(
    async () => {
      const left: string[] = [];
      for (const { name } of tables) {
        const [row] = await site.query(`select count(*) as count from "${String(name)}" where account_id = $1`, [id]);
        if (row?.["count"] !== 0) left.push(String(name));
      }
      const kept = ["connection_tombstone", "revocation"];
      expect(left.filter((name) => !kept.includes(name))).toEqual([]);
      expect(await site.query("select id from account where id = $1", [id])).toEqual([]);
      return true;
    },
    { what: "the organization is purged" },
  );
  const events = await site.query("select account_id, action, actor_account_id from audit_event where object_id = $1", [
    id,
  ]);
  expect(events).toEqual([
    { account_id: "installation", action: "organization.delete", actor_account_id: owner.person.accountId },
  ]);
});

/** Registers a client, asks for access and shows the consent page. `redeem` decides and returns the access token. */
async function openConsent({ browser }: Someone) {
  const redirectUri = "http://127.0.0.1:7777/callback";
  const registered = await fetch(`${site.url}/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ client_name: "Desk", redirect_uris: [redirectUri], token_endpoint_auth_method: "none" }),
  });
  const { client_id: clientId } = (await registered.json()) as { client_id: string };
  const verifier = randomBytes(32).toString("base64url");
  const query = new URLSearchParams({
    ...{ response_type: "code", client_id: clientId, redirect_uri: redirectUri, scope: "mgmt.read mcp.read" },
    ...{ code_challenge: createHash("sha256").update(verifier).digest("base64url"), code_challenge_method: "S256" },
  });
  const page = await browser.get(`/oauth2/authorize?${query.toString()}`);
  const form = formsOf(page.text).find(({ action }) => action === "/oauth2/consent");
  if (form === undefined) throw new Error(`there is no consent form on ${page.text}`);
  return {
    form: { html: page.text },
    async redeem(choice: Readonly<Record<string, string>>): Promise<string> {
      const { csrf_token: token = "", request = "" } = form.fields;
      const headers = { "content-type": "application/x-www-form-urlencoded", ...fromOwnPage(site.url) };
      const body = new URLSearchParams({ csrf_token: token, request, ...choice });
      const answer = await browser.send("POST", form.action, headers, body.toString());
      const code = new URL(answer.location ?? "http://none/").searchParams.get("code") ?? "";
      const response = await fetch(`${site.url}/oauth2/token`, {
        method: "POST",
        body: new URLSearchParams({
          ...{ grant_type: "authorization_code", code, redirect_uri: redirectUri },
          ...{ client_id: clientId, code_verifier: verifier },
        }),
      });
      const issued = (await response.json()) as { access_token?: string };
      if (issued.access_token === undefined) throw new Error(`${JSON.stringify(issued)} for ${answer.text}`);
      return issued.access_token;
    },
  };
}
