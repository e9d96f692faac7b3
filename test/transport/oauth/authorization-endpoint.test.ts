import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Account } from "../../../src/identity/account.ts";
import {
  attempt,
  type Browser,
  type CodeClient,
  decide,
  getCode,
  hiddenFields,
  insertCodeClient,
  logIn,
  redirectParameters,
  strangeBrowser,
} from "./code-flow.ts";
import { insertConnection, type Installation, startInstallation } from "./installation.ts";

let installation: Installation;
let account: Account;
let client: CodeClient;
let browser: Browser;

beforeAll(async () => {
  installation = await startInstallation();
  account = await installation.newAccount();
  client = await insertCodeClient(installation, account);
  browser = await logIn(installation, account);
});
afterAll(() => installation.close());

type Changes = Readonly<Record<string, string | undefined>>;

describe("invalid client or redirect URI in an authorization request (RFC 6749 §4.1.2.1)", () => {
  const cases: readonly (readonly [title: string, changes: Changes])[] = [
    ["no client_id", { client_id: undefined }],
    ["an unknown client", { client_id: "client_of_nobody" }],
    ["a client id with a NUL", { client_id: "client\0" }],
    ["no redirect URI", { redirect_uri: undefined }],
    ["a foreign host", { redirect_uri: "https://evil.example/callback" }],
    ["a longer path (OAuth 2.1 §2.3.1: exact match)", { redirect_uri: "https://app.example.com/callback/more" }],
    ["another query", { redirect_uri: "https://app.example.com/callback?x=1" }],
    ["another port", { redirect_uri: "https://app.example.com:444/callback" }],
    ["another scheme", { redirect_uri: "http://app.example.com/callback" }],
    ["a path in another case", { redirect_uri: "https://app.example.com/Callback" }],
    ["a user before the host", { redirect_uri: "https://app.example.com@evil.example/callback" }],
    ["a fragment", { redirect_uri: "https://app.example.com/callback#x" }],
  ];
  test.each(cases)("shows an error page and does not redirect for %s", async (_title, changes) => {
    for (const who of [browser, strangeBrowser(installation)]) {
      const { status, location, text, headers } = await who.get(attempt(client, changes).path);
      expect([status, location]).toEqual([400, ""]);
      expect(headers.get("content-type")).toMatch(/^text\/html/);
      expect(text).not.toContain("code=");
    }
  });

  test("rejects an authorization request with a repeated client_id", async () => {
    const { status, location } = await browser.get(`${attempt(client).path}&client_id=${client.clientId}`);
    expect([status, location]).toEqual([400, ""]);
  });

  test("rejects an authorization request whose state exceeds the size limit", async () => {
    const { status } = await browser.get(attempt(client, { state: "x".repeat(5_000) }).path);
    expect(status).toBe(400);
  });
});

describe("other errors of an authorization request (RFC 6749 §4.1.2.1)", () => {
  const cases: readonly (readonly [title: string, changes: Changes, error: string])[] = [
    ["the implicit flow (OAuth 2.1)", { response_type: "token" }, "unsupported_response_type"],
    ["an identity token", { response_type: "code id_token" }, "unsupported_response_type"],
    ["no response type", { response_type: undefined }, "invalid_request"],
    ["no challenge (RFC 9700 §2.1.1: PKCE always)", { code_challenge: undefined }, "invalid_request"],
    ["the plain method (S256 alone)", { code_challenge_method: "plain" }, "invalid_request"],
    ["a challenge without a method, which would be plain", { code_challenge_method: undefined }, "invalid_request"],
    ["a code challenge that is too short (RFC 7636 §4.2)", { code_challenge: "short" }, "invalid_request"],
    ["an unknown scope", { scope: "mcp.read openid" }, "invalid_scope"],
    ["a scope that the client is not allowed to request", { scope: "mgmt.admin" }, "invalid_scope"],
    ["a foreign resource (RFC 8707)", { resource: "https://elsewhere.example/mcp" }, "invalid_target"],
    ["the fragment response mode", { response_mode: "fragment" }, "unsupported_response_mode"],
    ["the form_post response mode", { response_mode: "form_post" }, "unsupported_response_mode"],
    ["a request object", { request: "a.b.c" }, "request_not_supported"],
    ["a request_uri parameter", { request_uri: "https://app.example.com/r" }, "request_uri_not_supported"],
    ["an unsupported prompt value", { prompt: "create" }, "invalid_request"],
    ["prompt=none combined with another value", { prompt: "none consent" }, "invalid_request"],
  ];
  test.each(cases)(
    "redirects to the client with an error, the state and iss (RFC 9207) for %s",
    async (_title, changes, error) => {
      const answer = await browser.get(attempt(client, changes).path);
      expect(answer.status).toBe(303);
      expect(answer.location).toMatch(/^https:\/\/app\.example\.com\/callback\?/);
      expect(redirectParameters(answer)).toMatchObject({ error, state: "the state", iss: installation.issuer });
      expect(redirectParameters(answer)).not.toHaveProperty("code");
    },
  );

  test("rejects an authorization request for two resources with invalid_target", async () => {
    const { path } = attempt(client, { resource: `${installation.issuer}/mcp` });
    const answer = await browser.get(`${path}&resource=${encodeURIComponent(installation.issuer)}`);
    expect(redirectParameters(answer)).toMatchObject({ error: "invalid_target" });
  });
});

describe("authorization request without a login session", () => {
  test("redirects to the login page with the request URL as return_to", async () => {
    const { path } = attempt(client);
    const { status, location } = await strangeBrowser(installation).get(path);
    expect(status).toBe(303);
    const login = new URL(location, installation.issuer);
    expect([login.origin, login.pathname]).toEqual([installation.issuer, "/login"]);
    expect(login.searchParams.get("return_to")).toBe(path);
  });

  test("redirects to the client with login_required for prompt=none", async () => {
    const answer = await strangeBrowser(installation).get(attempt(client, { prompt: "none" }).path);
    expect(redirectParameters(answer)).toMatchObject({ error: "login_required", iss: installation.issuer });
  });

  test("redirects a consent form submitted without a login session to the login page", async () => {
    const page = await browser.get(attempt(client).path);
    const { status, location } = await decide(strangeBrowser(installation), page);
    expect([status, location.startsWith("/login?")]).toEqual([303, true]);
  });
});

test("prompt=login requires a new login, and the new login satisfies that request", async () => {
  const { path } = attempt(client, { prompt: "login" });
  const { status, location } = await browser.get(path);
  const login = new URL(location, installation.issuer);
  expect([status, login.pathname, login.searchParams.get("prompt")]).toEqual([303, "/login", "login"]);
  const again = await logIn(installation, account);
  expect((await again.get(login.searchParams.get("return_to") ?? "")).status).toBe(200);
  // The new login satisfies only the request that required it.
  expect((await again.get(path)).status).toBe(303);
});

describe("the consent page", () => {
  test("shows the client name, the redirect host, a description of each scope and the account", async () => {
    const { text } = await browser.get(attempt(client, { scope: "mcp.read mgmt.write" }).path);
    expect(text).toContain("The test&#39;s client");
    expect(text).toContain("<strong>app.example.com</strong>");
    expect(text).toContain("Use read-only tools of your connections");
    expect(text).toContain("Create, change and delete your connections");
    expect(text).toContain(account.email);
  });

  test("escapes HTML in the client name", async () => {
    const evil = await insertCodeClient(installation, account, { name: `<script>alert(1)</script>"'&` });
    const { text } = await browser.get(attempt(evil).path);
    expect(text).not.toContain("<script>");
    expect(text).toContain("&lt;script&gt;");
  });

  test("forbids framing and scripts, and allows form submission only to this service and the client", async () => {
    const { headers } = await browser.get(attempt(client).path);
    const policy = headers.get("content-security-policy");
    expect(policy).toContain("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("form-action 'self' https://app.example.com");
    expect(headers.get("cache-control")).toBe("no-store");
    expect(headers.get("referrer-policy")).toBe("same-origin");
  });

  test("lists only the connections of the logged-in account", async () => {
    const [owner, stranger] = [await installation.newAccount(), await installation.newAccount()];
    const [mine, theirs] = [
      await insertConnection(installation, owner),
      await insertConnection(installation, stranger),
    ];
    const { text } = await (await logIn(installation, owner)).get(attempt(client).path);
    expect(text).toContain(`name="connection" value="${mine}"`);
    expect(text).not.toContain(`name="connection" value="${theirs}"`);
  });

  test("warns that a loopback redirect URI can belong to any program on the computer", async () => {
    const native = await insertCodeClient(installation, account, { redirectUris: ["http://127.0.0.1/callback"] });
    const { text } = await browser.get(attempt(native, { redirect_uri: "http://127.0.0.1:51234/callback" }).path);
    expect(text).toContain("<strong>127.0.0.1:51234</strong>");
    expect(text).toContain("a program on this computer");
  });

  test("offers only the connection that the resource names, and returns 404 for a connection of another account", async () => {
    const owner = await installation.newAccount();
    const id = await insertConnection(installation, owner);
    const own = await logIn(installation, owner);
    const { text } = await own.get(attempt(client, { resource: `${installation.issuer}/mcp/${id}` }).path);
    expect(text).toContain("Only this connection");
    expect(text).not.toContain('name="connection"');
    const foreign = await own.get(attempt(client, { resource: `${installation.issuer}/mcp/${id + 1_000}` }).path);
    expect(foreign.status).toBe(404);
  });
});

describe("consent decisions", () => {
  test("approval redirects to the client with a code, the state and iss", async () => {
    const answer = await decide(browser, await browser.get(attempt(client).path));
    expect(answer.status).toBe(303);
    expect(Object.keys(redirectParameters(answer)).sort()).toEqual(["code", "iss", "state"]);
    expect(redirectParameters(answer)).toMatchObject({ state: "the state", iss: installation.issuer });
  });

  test("denial redirects to the client with access_denied and creates no grant", async () => {
    const owner = await installation.newAccount();
    const own = await logIn(installation, owner);
    const answer = await decide(own, await own.get(attempt(client).path), "deny");
    expect(redirectParameters(answer)).toMatchObject({
      error: "access_denied",
      state: "the state",
      iss: installation.issuer,
    });
    expect(await installation.grants.list(owner.id)).toEqual([]);
  });

  test.each(["without a CSRF token", "with the CSRF token of another session", "from another origin"])(
    "rejects a consent form %s",
    async (kind) => {
      const form = hiddenFields((await browser.get(attempt(client).path)).text);
      form.set("decision", "approve");
      form.set("reach", "all");
      const headers: Record<string, string> = kind === "from another origin" ? { origin: "https://evil.example" } : {};
      if (kind === "without a CSRF token") form.delete("csrf_token");
      if (kind === "with the CSRF token of another session") {
        const other = await logIn(installation, await installation.newAccount());
        form.set("csrf_token", hiddenFields((await other.get(attempt(client).path)).text).get("csrf_token") ?? "");
      }
      const { status, location } = await browser.post("/oauth2/consent", form, headers);
      expect([status, location]).toEqual([403, ""]);
    },
  );

  test("accepts consent only by POST and authorization requests only by GET and HEAD", async () => {
    const consent = await browser.get("/oauth2/consent");
    expect([consent.status, consent.headers.get("allow")]).toEqual([405, "POST"]);
    const posted = await browser.post(attempt(client).path, new URLSearchParams());
    expect([posted.status, posted.headers.get("allow")]).toEqual([405, "GET, HEAD"]);
  });

  test("shows the form again with an error when no selected connection belongs to the account", async () => {
    const owner = await installation.newAccount();
    const mine = await insertConnection(installation, owner);
    const own = await logIn(installation, owner);
    const page = await own.get(attempt(client).path);
    for (const ids of [[], [mine + 1_000]]) {
      const answer = await decide(own, page, "approve", ids);
      expect([answer.status, answer.location]).toEqual([400, ""]);
      expect(answer.text).toContain("Select at least one connection");
    }
    expect(await installation.grants.list(owner.id)).toEqual([]);
    await decide(own, page, "approve", [mine, mine + 1_000]);
    expect(await installation.grants.list(owner.id)).toMatchObject([{ connectionIds: [mine] }]);
  });

  test("skips consent for the same client, redirect URI, resource and scopes, and requires consent for a wider request", async () => {
    const own = await logIn(installation, await installation.newAccount());
    await getCode(own, client, { scope: "mcp.read mcp.write" });
    expect(redirectParameters(await own.get(attempt(client, { scope: "mcp.read" }).path))).toHaveProperty("code");
    expect(redirectParameters(await own.get(attempt(client, { prompt: "none" }).path))).toHaveProperty("code");
    for (const changes of [
      { scope: "mcp.read mgmt.read" },
      { resource: `${installation.issuer}/mcp` },
      { prompt: "consent" },
    ]) {
      expect((await own.get(attempt(client, changes).path)).status).toBe(200);
    }
    const silent = await own.get(attempt(client, { scope: "mgmt.read", prompt: "none" }).path);
    expect(redirectParameters(silent)).toMatchObject({ error: "consent_required" });
  });

  test("reuses the grant for a repeated approval and creates a new grant for another selection of connections", async () => {
    const owner = await installation.newAccount();
    const id = await insertConnection(installation, owner);
    const own = await logIn(installation, owner);
    for (const connections of ["all", "all", [id], [id]] as const) {
      await getCode(own, client, { prompt: "consent" }, connections);
    }
    const grants = await installation.grants.list(owner.id);
    expect(grants.map(({ connectionIds }) => connectionIds)).toEqual([[id], undefined]);
  });

  test("requires consent every time for a public client with a loopback redirect URI (RFC 8252 §8.6)", async () => {
    const redirectUris = ["http://127.0.0.1/callback"];
    const native = await insertCodeClient(installation, account, { method: "none", redirectUris });
    await getCode(browser, native);
    expect((await browser.get(attempt(native).path)).status).toBe(200);
    const silent = await browser.get(attempt(native, { prompt: "none" }).path);
    expect(redirectParameters(silent)).toMatchObject({ error: "consent_required" });
  });
});

describe("redirect URIs of native apps (RFC 8252 §7)", () => {
  test.each([
    ["http://127.0.0.1/callback", "http://127.0.0.1:49152/callback"],
    ["http://[::1]:3000/callback", "http://[::1]:49152/callback"],
    ["http://localhost:3000/callback", "http://localhost:49152/callback"],
    ["cursor://anysphere.cursor/callback", "cursor://anysphere.cursor/callback"],
    ["com.example.app:/callback", "com.example.app:/callback"],
  ])("the registered redirect URI %s matches %s", async (registered, used) => {
    const native = await insertCodeClient(installation, account, { method: "none", redirectUris: [registered] });
    const answer = await decide(browser, await browser.get(attempt(native, { redirect_uri: used }).path));
    expect(answer.location.startsWith(`${used}?`)).toBe(true);
  });

  test.each([
    ["http://127.0.0.1/callback", "http://localhost/callback"],
    ["http://127.0.0.1/callback", "http://127.0.0.1:80@evil.example/callback"],
    ["http://127.0.0.1/callback", "http://127.0.0.1.evil.example/callback"],
    ["http://127.0.0.1/callback", "https://127.0.0.1:8443/callback"],
    ["cursor://anysphere.cursor/callback", "cursor://evil/callback"],
  ])("the registered redirect URI %s does not match %s", async (registered, used) => {
    const native = await insertCodeClient(installation, account, { method: "none", redirectUris: [registered] });
    const { status, location } = await browser.get(attempt(native, { redirect_uri: used }).path);
    expect([status, location]).toEqual([400, ""]);
  });
});

test("an authorization request without scopes receives mcp.read and mcp.write", async () => {
  const own = await logIn(installation, await installation.newAccount());
  await getCode(own, client, { scope: undefined });
  const { rows } = await installation.database.pool.query<{ scopes: string[] }>(
    "select scopes from oauth_grant order by created_at desc limit 1",
  );
  expect(rows[0]?.scopes).toEqual(["mcp.read", "mcp.write"]);
});

test("accepts the offline_access scope and ignores it, because every grant includes a refresh token", async () => {
  const own = await logIn(installation, await installation.newAccount());
  await expect(getCode(own, client, { scope: "mcp.read offline_access" })).resolves.toHaveProperty("code");
});

test("grants mgmt.admin only when the approving person is an administrator", async () => {
  const scopes = ["mgmt.admin", "mgmt.read"];
  const wide = await insertCodeClient(installation, await installation.newAccount(true), { scopes });
  const [admin, other] = [await installation.newAccount(true), await installation.newAccount()];
  for (const person of [admin, other]) {
    await getCode(await logIn(installation, person), wide, { scope: "mgmt.admin mgmt.read" });
  }
  expect(await installation.grants.list(admin.id)).toMatchObject([{ scopes: ["mgmt.admin", "mgmt.read"] }]);
  expect(await installation.grants.list(other.id)).toMatchObject([{ scopes: ["mgmt.read"] }]);
});
