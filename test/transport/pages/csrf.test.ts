import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type FormBrowser, formsOf, fromOwnPage } from "../../support/form-browser.ts";
import { type Person, type Site, startSite } from "../../identity/login/site.ts";

let site: Site;

beforeAll(async () => {
  site = await startSite({ CORS_ORIGINS: "https://app.example.com" });
});
afterAll(() => site.close());

/** Every form that changes data, with its required fields. */
const FORMS: [name: string, open: string, path: string, more: Record<string, string>][] = [
  ["the logout", "/logout", "/logout", {}],
  [
    "the password change",
    "/account/password",
    "/account/password",
    { current: "x", next: "a new password 1", repeated: "a new password 1" },
  ],
];

async function fieldsOf(browser: FormBrowser, open: string, path: string): Promise<Record<string, string>> {
  const { text } = await browser.get(open);
  return { ...formsOf(text).find(({ action }) => action === path)?.fields };
}

const FOREIGN: [what: string, headers: Record<string, string>][] = [
  ["another site's Origin", { origin: "https://evil.example" }],
  ["the Origin of a sandboxed page", { origin: "null" }],
  ["our host under another scheme", { origin: "https://127.0.0.1" }],
  ["an origin that may call the API", { origin: "https://app.example.com" }],
  ["no Origin and Sec-Fetch-Site cross-site", { "sec-fetch-site": "cross-site" }],
  ["Sec-Fetch-Site same-site: a neighboring host", { "sec-fetch-site": "same-site" }],
];

describe.each(FORMS)("%s", (_name, open, path, more) => {
  test.each(FOREIGN)("the form rejects a request with %s although the CSRF token is valid", async (_what, headers) => {
    const { browser } = await site.loggedIn();
    const fields = { ...(await fieldsOf(browser, open, path)), ...more };
    expect(fields["csrf_token"]).toMatch(/^[\w-]{43}$/);
    expect((await browser.post(path, fields, headers)).status).toBe(403);
    expect((await browser.get("/session")).status).toBe(200);
  });

  test("the form rejects a missing CSRF token, an invalid token and a token of another session", async () => {
    const { browser } = await site.loggedIn();
    const { browser: other } = await site.loggedIn();
    const { csrf_token: foreign = "", ...fields } = await fieldsOf(other, open, path);
    for (const token of [undefined, "", "A".repeat(43), foreign, `${foreign}A`]) {
      const sent = { ...fields, ...more, ...(token !== undefined && { csrf_token: token }) };
      expect((await browser.post(path, sent)).status).toBe(403);
    }
    expect((await browser.get("/session")).status).toBe(200);
  });
});

describe("login form", () => {
  let person: Person;
  beforeAll(async () => {
    person = await site.newPerson();
  });

  test.each(FOREIGN)("the login form rejects a request with %s and creates no session", async (_what, headers) => {
    const browser = site.browser();
    const fields = await fieldsOf(browser, "/login", "/login");
    const answer = await browser.post("/login", { ...fields, email: person.email, password: person.password }, headers);
    expect(answer.status).toBe(403);
    expect(browser.cookies.has("patchbay_session")).toBe(false);
  });

  test("the login form rejects a request without its cookie and with the token of another browser", async () => {
    const [attacker, victim] = [site.browser(), site.browser()];
    const fields = await fieldsOf(attacker, "/login", "/login");
    const sent = { ...fields, email: person.email, password: person.password };
    expect((await victim.post("/login", sent)).status).toBe(403);
    await victim.get("/login");
    expect((await victim.post("/login", sent)).status).toBe(403);
    expect(victim.cookies.has("patchbay_session")).toBe(false);
  });

  test("the login form responds to a rejected request with a new form that has a valid token", async () => {
    const browser = site.browser();
    const refused = await browser.post("/login", { email: person.email, password: person.password });
    const fields = formsOf(refused.text)[0]?.fields;
    const answer = await browser.post("/login", { ...fields, email: person.email, password: person.password });
    expect([refused.status, answer.status]).toEqual([403, 303]);
  });

  test("two login pages open in one browser can both log in", async () => {
    const browser = site.browser();
    const first = await fieldsOf(browser, "/login", "/login");
    await browser.get("/login");
    const answer = await browser.post("/login", { ...first, email: person.email, password: person.password });
    expect(answer.status).toBe(303);
  });
});

describe("submitted forms", () => {
  test("returns 415 for a body with another content type without reading it", async () => {
    const { browser } = await site.loggedIn();
    const answer = await browser.send(
      "POST",
      "/logout",
      { ...fromOwnPage(site.url), "content-type": "text/plain" },
      "x",
    );
    expect(answer.status).toBe(415);
  });

  test("returns 413 for a form over 16 KiB and keeps the connection open", async () => {
    const browser = site.browser();
    const fields = { ...(await fieldsOf(browser, "/login", "/login")), email: "a".repeat(20_000), password: "x" };
    expect((await browser.post("/login", fields)).status).toBe(413);
    expect((await browser.get("/login")).status).toBe(200);
  });

  test.each([
    ["PUT", "/login", "GET, HEAD, POST"],
    ["DELETE", "/account", "GET, HEAD"],
    ["GET", "/session/token", "POST"],
    ["POST", "/session", "GET, HEAD, DELETE"],
  ])("returns 405 with an Allow header for %s %s", async (method, path, allow) => {
    const answer = await site.browser().send(method, path, {});
    expect([answer.status, answer.headers.get("allow")]).toEqual([405, allow]);
  });

  test.each(["/login/", "/Login", "/login/x", "/account/", "/session/"])("returns 404 for %s", async (path) => {
    expect((await site.browser().get(path)).status).toBe(404);
  });
});
