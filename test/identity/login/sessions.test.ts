import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createLoginSessionStore } from "../../../src/storage/stores/identity/login-session.ts";
import { createPurge } from "../../../src/storage/stores/connections/purge.ts";
import { createFormBrowser, type FormBrowser, formsOf, fromOwnPage } from "../../support/form-browser.ts";
import { until } from "../../support/until.ts";
import { type Person, type Site, startSite } from "./site.ts";

let site: Site;
let replica: string;

beforeAll(async () => {
  site = await startSite();
  replica = await site.replica();
});
afterAll(() => site.close());

const JSON_BODY = { "content-type": "application/json" };

function own(): Record<string, string> {
  return { ...fromOwnPage(site.url), ...JSON_BODY };
}

async function tokenOf(browser: FormBrowser, body = "{}"): Promise<Record<string, unknown>> {
  const { status, text } = await browser.send("POST", "/session/token", own(), body);
  expect([status, text]).toEqual([200, expect.any(String)]);
  return JSON.parse(text) as Record<string, unknown>;
}

async function list(token: unknown, url = site.url): Promise<number> {
  return (await fetch(`${url}/api/v1/mcp-servers`, { headers: { authorization: `Bearer ${String(token)}` } })).status;
}

/** The same cookies at another replica. */
function elsewhere(browser: FormBrowser): FormBrowser {
  const copy = createFormBrowser(replica);
  for (const [name, value] of browser.cookies) copy.cookies.set(name, value);
  return copy;
}

function claimsOf(token: unknown): Record<string, unknown> {
  return JSON.parse(Buffer.from(String(token).split(".")[1] ?? "", "base64url").toString()) as Record<string, unknown>;
}

async function changePassword(
  browser: FormBrowser,
  fields: { current: string; next: string; repeated?: string },
): Promise<{ status: number; text: string; location: string | null }> {
  const { text } = await browser.get("/account/password");
  return browser.post("/account/password", { ...formsOf(text)[0]?.fields, repeated: fields.next, ...fields });
}

const NEXT = "four unrelated words here";

describe("a session", () => {
  test("identifies the logged-in person", async () => {
    const { browser, person } = await site.loggedIn();
    const { status, headers, text } = await browser.get("/session");
    expect([status, headers.get("cache-control")]).toEqual([200, "no-store"]);
    expect(JSON.parse(text)).toEqual({
      account_id: person.accountId,
      email: person.email,
      is_admin: false,
      organizations: [],
      authenticated_at: expect.any(String),
      expires_at: expect.any(String),
    });
  });

  test("starts and ends on every replica at once", async () => {
    const { browser } = await site.loggedIn();
    expect((await elsewhere(browser).get("/session")).status).toBe(200);
    const there = elsewhere(browser);
    expect((await browser.send("DELETE", "/session", own())).status).toBe(204);
    expect((await there.get("/session")).status).toBe(401);
  });

  test("ends after 12 hours without use", async () => {
    const { browser, person } = await site.loggedIn();
    const idle = "update login_session set last_used_at = now() - $2::interval where account_id = $1";
    await site.query(idle, [person.accountId, "11 hours 59 minutes"]);
    expect((await browser.get("/session")).status).toBe(200);
    // That request counts as a use.
    await site.query(`${idle} and last_used_at < now() - interval '1 hour'`, [person.accountId, "13 hours"]);
    expect((await browser.get("/session")).status).toBe(200);
    await site.query(idle, [person.accountId, "12 hours 1 second"]);
    expect((await browser.get("/session")).status).toBe(401);
  });

  test("ends after 7 days, however much it is used", async () => {
    const { browser, person } = await site.loggedIn();
    const rows = await site.query(
      "select extract(epoch from expires_at - authenticated_at)::int as seconds from login_session where account_id = $1",
      [person.accountId],
    );
    expect(rows).toEqual([{ seconds: 7 * 86_400 }]);
    await site.query("update login_session set expires_at = now() where account_id = $1", [person.accountId]);
    expect((await browser.get("/session")).status).toBe(401);
  });

  test("is deleted some time after its end", async () => {
    const { person } = await site.loggedIn();
    await site.query("update login_session set expires_at = now() - interval '1 second' where account_id = $1", [
      person.accountId,
    ]);
    await createPurge(site.foundation.database.pool).expired();
    expect(await site.query("select 1 from login_session where account_id = $1", [person.accountId])).toEqual([]);
  });

  test("of a disabled account is rejected at once on every replica", async () => {
    const { browser, person } = await site.loggedIn();
    const { access_token: token } = await tokenOf(browser);
    await site.foundation.accounts.disable(person.accountId);
    expect((await elsewhere(browser).get("/session")).status).toBe(401);
    expect((await browser.get("/account")).location).toBe("/login?return_to=%2Faccount");
    await until(async () => (await list(token, replica)) === 401, { what: "its token is refused" });
  });

  test("above 100 per account ends the one that was idle longest", async () => {
    const { browser, person } = await site.loggedIn();
    const store = createLoginSessionStore(site.foundation.database);
    const insert = (at: number) =>
      store.insert(
        {
          accountId: person.accountId,
          id: `session_${at}`,
          secretHash: Buffer.from(`secret ${at}`),
          lifetimeSeconds: 60,
        },
        100,
      );
    for (let at = 0; at < 99; at += 1) await insert(at);
    expect((await browser.get("/session")).status).toBe(200);
    await insert(99);
    expect((await browser.get("/session")).status).toBe(401);
    expect(await site.query("select 1 from login_session where account_id = $1", [person.accountId])).toHaveLength(100);
  });
});

describe("logging out", () => {
  test("ends the session, clears the cookie and shows a confirmation", async () => {
    const { browser } = await site.loggedIn();
    const held = elsewhere(browser);
    const { text } = await browser.get("/account");
    const fields = formsOf(text).find(({ action }) => action === "/logout")?.fields ?? {};
    const answer = await browser.post("/logout", fields);
    expect([answer.status, answer.location]).toEqual([303, "/login?logged_out"]);
    expect(browser.cookies.has("patchbay_session")).toBe(false);
    expect((await browser.get("/login?logged_out")).text).toContain("You are logged out.");
    expect((await held.get("/session")).status).toBe(401);
  });

  test("requires a form, so that a link on another site cannot log a person out", async () => {
    const { browser } = await site.loggedIn();
    expect((await browser.get("/logout")).status).toBe(200);
    expect((await browser.get("/session")).status).toBe(200);
  });
});

describe("changing the password", () => {
  async function twice(): Promise<{ here: FormBrowser; there: FormBrowser; person: Person }> {
    const { browser: here, person } = await site.loggedIn();
    const there = site.browser();
    await there.logIn(person.email, person.password);
    return { here, there, person };
  }

  test("ends every other session and its tokens, keeps this one, and enables the new password", async () => {
    const { here, there, person } = await twice();
    const { access_token: token } = await tokenOf(there);
    const { access_token: kept } = await tokenOf(here);
    const answer = await changePassword(here, { current: person.password, next: NEXT });
    expect([answer.status, answer.location]).toEqual([303, "/account?done=password"]);
    expect((await there.get("/session")).status).toBe(401);
    expect((await here.get("/session")).status).toBe(200);
    await until(async () => (await list(token, replica)) === 401, { what: "the other's token is refused" });
    expect(await list(kept)).toBe(200);
    expect((await site.browser().logIn(person.email, person.password)).status).toBe(403);
    expect((await site.browser().logIn(person.email, NEXT)).status).toBe(303);
  });

  test.each([
    ["a wrong current one", { current: "wrong", next: NEXT }, 403, "current password is wrong"],
    ["one that is too short", { current: "", next: "too short" }, 400, "12 to 256 characters"],
    ["one that is too long", { current: "", next: "a".repeat(257) }, 400, "12 to 256 characters"],
    ["a repetition that differs", { current: "", next: NEXT, repeated: `${NEXT}!` }, 400, "differ"],
  ])("with %s changes nothing and returns the reason", async (_what, fields, status, words) => {
    const { here, there, person } = await twice();
    const answer = await changePassword(here, { ...fields, current: fields.current || person.password });
    expect([answer.status, answer.text]).toEqual([status, expect.stringContaining(words)]);
    expect((await there.get("/session")).status).toBe(200);
    expect((await site.browser().logIn(person.email, person.password)).status).toBe(303);
  });

  test("counts code points and accepts any characters", async () => {
    const { here, person } = await twice();
    const next = "пароль из слов 🔑🔑";
    expect((await changePassword(here, { current: person.password, next })).status).toBe(303);
    expect((await site.browser().logIn(person.email, next)).status).toBe(303);
  });

  test("a concurrent login with the old password starts no session", async () => {
    const { person } = await twice();
    const store = createLoginSessionStore(site.foundation.database);
    const rows = await site.query("select password_hash from account where id = $1", [person.accountId]);
    const before = String(rows[0]?.["password_hash"]);
    await site.query("update account set password_hash = 'another' where id = $1", [person.accountId]);
    const session = {
      accountId: person.accountId,
      id: "session_late",
      secretHash: Buffer.from("x"),
      lifetimeSeconds: 9,
    };
    expect(await store.insert({ ...session, passwordHash: before }, 100)).toBeUndefined();
    expect(await store.insert({ ...session, passwordHash: "another" }, 100)).toMatchObject({ id: "session_late" });
  });
});

describe("a lost password", () => {
  test("is reset by the operator, which ends every session and is recorded in the audit log", async () => {
    const { browser, person } = await site.loggedIn();
    const { access_token: token } = await tokenOf(browser);
    const { password } = await site.foundation.accounts.resetPassword(person.email);
    expect((await browser.get("/session")).status).toBe(401);
    await until(async () => (await list(token, replica)) === 401, { what: "its token is refused" });
    expect((await site.browser().logIn(person.email, person.password)).status).toBe(403);
    expect((await site.browser().logIn(person.email, password)).status).toBe(303);
    const events = await site.query(
      "select actor_kind, changed from audit_event where account_id = $1 and action = 'account.change_password'",
      [person.accountId],
    );
    expect(events).toEqual([{ actor_kind: "operator", changed: ["password"] }]);
  });
});

describe("a token for the session", () => {
  test("is an access token of ten minutes for the whole service, whose client is the session", async () => {
    const { browser, person } = await site.loggedIn();
    const answer = await tokenOf(browser);
    expect(answer).toEqual({
      access_token: expect.any(String),
      token_type: "Bearer",
      expires_in: 600,
      scope: "mgmt.read mgmt.write mcp.read mcp.write",
    });
    const claims = claimsOf(answer["access_token"]);
    expect(claims).toMatchObject({ aud: site.url, iss: site.url, sub: person.accountId, token_type: "oauth" });
    expect(claims["client_id"]).toMatch(/^session_[\w-]{22}$/);
    expect(Number(claims["exp"]) - Number(claims["iat"])).toBe(600);
    expect(await list(answer["access_token"], replica)).toBe(200);
  });

  test("has mgmt.admin only for administrators", async () => {
    const { browser: admin } = await site.loggedIn(true);
    const { browser } = await site.loggedIn();
    expect((await tokenOf(admin))["scope"]).toContain("mgmt.admin");
    const refused = await browser.send("POST", "/session/token", own(), '{"scope":"mgmt.admin"}');
    expect(refused.status).toBe(400);
  });

  test("can be requested with fewer scopes", async () => {
    const { browser } = await site.loggedIn();
    expect((await tokenOf(browser, '{"scope":"mgmt.read"}'))["scope"]).toBe("mgmt.read");
  });

  test("is revoked on every replica when the session ends", async () => {
    const { browser } = await site.loggedIn();
    const { access_token: token } = await tokenOf(browser);
    expect([await list(token), await list(token, replica)]).toEqual([200, 200]);
    await browser.send("DELETE", "/session", own());
    for (const url of [site.url, replica]) {
      await until(async () => (await list(token, url)) === 401, { withinMs: 5_000, what: `${url} refuses it` });
    }
  });

  test("expires with the session at the latest", async () => {
    const { browser, person } = await site.loggedIn();
    await site.query("update login_session set expires_at = now() + interval '60 seconds' where account_id = $1", [
      person.accountId,
    ]);
    expect(Number((await tokenOf(browser))["expires_in"])).toBeLessThanOrEqual(60);
  });

  test.each<[string, Record<string, string>, number]>([
    ["without an Origin", JSON_BODY, 403],
    ["from another site", { ...JSON_BODY, origin: "https://evil.example" }, 403],
    ["from a neighboring host", { ...JSON_BODY, "sec-fetch-site": "same-site" }, 403],
    ["as a form, which needs no permission to be sent", { "content-type": "text/plain" }, 415],
  ])("is refused %s", async (what, headers, status) => {
    const { browser } = await site.loggedIn();
    const origin = what.startsWith("as") || what.includes("neighbor") ? fromOwnPage(site.url) : {};
    const answer = await browser.send("POST", "/session/token", { ...origin, ...headers }, "{}");
    expect(answer.status).toBe(status);
  });

  test("requires a login, and an invalid body returns 400", async () => {
    expect((await site.browser().send("POST", "/session/token", own(), "{}")).status).toBe(401);
    const { browser } = await site.loggedIn();
    for (const body of ["[", "[]", '{"scope":1}', '{"scope":"root"}'])
      expect((await browser.send("POST", "/session/token", own(), body)).status).toBe(400);
  });
});
