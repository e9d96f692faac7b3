import { once } from "node:events";
import { type IncomingMessage, request } from "node:http";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFormBrowser, formsOf, fromOwnPage } from "../../support/form-browser.ts";
import { type Person, type Site, startSite } from "./site.ts";

let site: Site;
let person: Person;

beforeAll(async () => {
  site = await startSite();
  person = await site.newPerson();
});
afterAll(() => site.close());

describe("logging in", () => {
  test("redirects to the console with a session", async () => {
    const browser = site.browser();
    const answer = await browser.logIn(person.email, person.password);
    expect([answer.status, answer.location]).toEqual([303, "/"]);
    expect((await browser.get("/account")).text).toContain(person.email);
  });

  test("accepts the e-mail address in any case and with surrounding spaces", async () => {
    const answer = await site.browser().logIn(` ${person.email.toUpperCase()} `, person.password);
    expect(answer.status).toBe(303);
  });

  test("redirects to the page that required the login", async () => {
    const answer = await site.browser().logIn(person.email, person.password, "/oauth2/authorize?a=1&b=2");
    expect(answer.location).toBe("/oauth2/authorize?a=1&b=2");
  });

  test("is skipped for a logged-in person unless the URL requires it", async () => {
    const browser = site.browser();
    await browser.logIn(person.email, person.password);
    expect((await browser.get("/login?return_to=/x")).location).toBe("/x");
    expect((await browser.get("/login?return_to=/x&prompt=login")).status).toBe(200);
  });

  test.each([
    "https://evil.example",
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "\\\\evil.example",
    "javascript:alert(1)",
    "/..//evil.example",
    "/.//evil.example",
    "evil.example",
    "",
    "/%0d%0aset-cookie:a=b\r\nx: y",
    `/${"a".repeat(5_000)}`,
  ])("never redirects to another site: %j", async (returnTo) => {
    const answer = await site.browser().logIn(person.email, person.password, returnTo);
    expect([answer.status, answer.location]).toEqual([303, "/"]);
  });

  test("under another name of this host redirects to the public URL", async () => {
    const { port } = new URL(site.url);
    const locationFor = async (host: string): Promise<string | undefined> => {
      const sent = request(`${site.url}/login?return_to=/x`, { headers: { host }, agent: false }).end();
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      response.resume();
      return response.headers.location;
    };
    expect(await locationFor(`localhost:${port}`)).toBe(`${site.url}/login?return_to=/x`);
    for (const host of [`127.0.0.1:${port}`, `evil.example:${port}`, "localhost:1", "evil.example"])
      expect(await locationFor(host)).toBeUndefined();
  });

  test("escapes the entered text", async () => {
    const answer = await site.browser().logIn(`"><script>alert(1)</script>`, "wrong");
    expect(answer.status).toBe(403);
    expect(answer.text).not.toContain("<script");
    expect(answer.text).toContain("&lt;script&gt;");
  });

  test("reports missing fields", async () => {
    const browser = site.browser();
    const { text } = await browser.get("/login");
    const answer = await browser.post("/login", { ...formsOf(text)[0]?.fields, email: person.email });
    expect([answer.status, answer.text]).toEqual([400, expect.stringContaining("Enter your e-mail address")]);
  });
});

describe("a rejected login reveals nothing", () => {
  test("returns the same response for an unknown address, a wrong password, a disabled account and an account without a password", async () => {
    const [disabled, passwordless] = [await site.newPerson(), await site.newPerson()];
    await site.foundation.accounts.disable(disabled.accountId);
    await site.query("update account set password_hash = '' where id = $1", [passwordless.accountId]);
    const answers = await Promise.all(
      [
        ["nobody@example.com", "whatever it is"],
        [person.email, "whatever it is"],
        [disabled.email, disabled.password],
        [passwordless.email, ""],
        [passwordless.email, "whatever it is"],
      ].map(async ([email = "", password = ""]) => {
        const { status, text } = await site.browser().logIn(email, password || " ");
        const shown = text.replaceAll(/value="[^"]*"/g, "");
        return { status, shown };
      }),
    );
    expect(answers[0]?.status).toBe(403);
    expect(answers[0]?.shown).toContain("The e-mail address or the password is wrong.");
    for (const answer of answers) expect(answer).toEqual(answers[0]);
  });

  test("hashes for an unknown address as much as for a known one", async () => {
    const { verifyPassword, NO_PASSWORD_HASH, hashPassword } =
      await import("../../../src/identity/accounts/password.ts");
    const costs = /^\$argon2id\$v=19\$m=\d+,t=\d+,p=\d+\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/;
    const real = await hashPassword("a password");
    expect(real).toMatch(costs);
    expect(NO_PASSWORD_HASH).toMatch(costs);
    expect(NO_PASSWORD_HASH.split("$").slice(0, 4)).toEqual(real.split("$").slice(0, 4));
    expect(await verifyPassword(NO_PASSWORD_HASH, "")).toBe(false);
  });

  test.each(["", " ", "a".repeat(2_000), "a\0b", "\ud800"])("treats the password %j as wrong", async (password) => {
    const browser = site.browser();
    const { text } = await browser.get("/login");
    const { status } = await browser.post("/login", { ...formsOf(text)[0]?.fields, email: person.email, password });
    expect([400, 403]).toContain(status);
  });

  test("treats an address with a NUL or of any length as wrong", async () => {
    for (const email of ["a\0b@example.com", `${"a".repeat(3_000)}@example.com`]) {
      const browser = site.browser();
      const { text } = await browser.get("/login");
      const fields = { ...formsOf(text)[0]?.fields, email, password: "whatever it is" };
      expect((await browser.post("/login", fields)).status).toBe(403);
    }
  });
});

describe("the session cookie", () => {
  test("is HttpOnly, SameSite=Lax, for the whole site and without the prefix __Host- over plain http", async () => {
    const { headers } = await site.browser().logIn(person.email, person.password);
    const cookie = headers.getSetCookie().find((line) => line.startsWith("patchbay_session="));
    expect(cookie).toMatch(/^patchbay_session=acc_[\w-]+\.[\w-]{43}; Max-Age=604800; Path=\/; HttpOnly; SameSite=Lax$/);
  });

  test("changes at every login, which ends the browser's previous session", async () => {
    const browser = site.browser();
    await browser.logIn(person.email, person.password);
    const first = new Map(browser.cookies);
    const { text } = await browser.get("/login?prompt=login");
    await browser.post("/login", { ...formsOf(text)[0]?.fields, email: person.email, password: person.password });
    expect(browser.cookies.get("patchbay_session")).not.toBe(first.get("patchbay_session"));
    const earlier = site.browser();
    for (const [name, value] of first) earlier.cookies.set(name, value);
    expect((await earlier.get("/session")).status).toBe(401);
    expect((await browser.get("/session")).status).toBe(200);
  });

  test("is replaced if it was set before the login", async () => {
    const browser = site.browser();
    const planted = `${person.accountId}.${"A".repeat(43)}`;
    browser.cookies.set("patchbay_session", planted);
    await browser.logIn(person.email, person.password);
    expect(browser.cookies.get("patchbay_session")).not.toBe(planted);
    const attacker = site.browser();
    attacker.cookies.set("patchbay_session", planted);
    expect((await attacker.get("/session")).status).toBe(401);
  });

  test("is stored only as a keyed hash", async () => {
    const browser = site.browser();
    await browser.logIn(person.email, person.password);
    const secret = browser.cookies.get("patchbay_session")?.split(".")[1] ?? "";
    const rows = await site.query("select * from login_session");
    expect(rows.length).toBeGreaterThan(0);
    const kept = JSON.stringify(rows);
    const bytes = Buffer.from(secret, "base64url");
    for (const form of [secret, bytes.toString("hex"), JSON.stringify(bytes)]) expect(kept).not.toContain(form);
  });

  test("is ignored if it is sent twice", async () => {
    const { browser } = await site.loggedIn();
    const cookie = `patchbay_session=${String(browser.cookies.get("patchbay_session"))}`;
    const twice = await createFormBrowser(site.url).get("/session", { cookie: `${cookie}; ${cookie}` });
    const once = await createFormBrowser(site.url).get("/session", { cookie: `other=1; ${cookie}` });
    expect([twice.status, once.status]).toEqual([401, 200]);
  });

  test.each(["", "x", "acc_x.y", "acc_x", `acc_x.${"A".repeat(43)}`, `' or 1=1 --.${"A".repeat(43)}`])(
    "with the value %j logs nobody in",
    async (value) => {
      const browser = site.browser();
      browser.cookies.set("patchbay_session", value);
      expect((await browser.get("/session")).status).toBe(401);
    },
  );

  test("of one account is invalid with the id of another", async () => {
    const { browser } = await site.loggedIn();
    const secret = browser.cookies.get("patchbay_session")?.split(".")[1] ?? "";
    browser.cookies.set("patchbay_session", `${person.accountId}.${secret}`);
    expect((await browser.get("/session")).status).toBe(401);
  });
});

test("over https the cookie is __Host- and Secure, and an unencrypted login through a trusted proxy is rejected", async () => {
  const secure = await startSite({ PUBLIC_URL: "https://patchbay.example.com", TRUST_PROXY: "true" });
  try {
    const someone = await secure.newPerson();
    const browser = secure.browser();
    const page = await browser.get("/login", { "x-forwarded-proto": "https" });
    const fields = { ...formsOf(page.text)[0]?.fields, email: someone.email, password: someone.password };
    const headers = fromOwnPage(secure.publicUrl);
    const clear = await browser.post("/login", fields, { ...headers, "x-forwarded-proto": "http" });
    expect([clear.status, clear.text]).toEqual([400, expect.stringContaining("https")]);
    const answer = await browser.post("/login", fields, { ...headers, "x-forwarded-proto": "https" });
    expect(answer.status).toBe(303);
    for (const line of answer.headers.getSetCookie())
      expect(line).toMatch(
        /^__Host-patchbay_(session|browser)=[^;]*; (Max-Age=\d+; )?Path=\/; HttpOnly; Secure; SameSite=Lax$/,
      );
    expect(page.headers.get("strict-transport-security")).toMatch(/^max-age=\d{8}/);
  } finally {
    await secure.close();
  }
});
