import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createFormBrowser, type FormBrowser, formsOf, type PageAnswer } from "../../support/form-browser.ts";
import { freePort } from "../../support/free-port.ts";
import { type OpenIdProvider, startOpenIdProvider } from "./openid-provider.ts";
import { type Site, startSite } from "./site.ts";

let provider: OpenIdProvider;
let site: Site;
/** The same service, which creates no accounts for new people. */
let closed: Site;

beforeAll(async () => {
  // The provider knows one redirect URI, so both services use one public URL.
  const publicUrl = `http://127.0.0.1:${await freePort()}`;
  provider = await startOpenIdProvider(`${publicUrl}/login/external/callback`);
  const settings = {
    PUBLIC_URL: publicUrl,
    OIDC_ISSUER: provider.issuer,
    OIDC_CLIENT_ID: provider.clientId,
    OIDC_CLIENT_SECRET: provider.clientSecret,
  };
  site = await startSite({ ...settings, OIDC_CREATE_ACCOUNTS: "true" });
  closed = await startSite(settings);
}, 60_000);
afterAll(async () => {
  await site?.close();
  await closed?.close();
  await provider?.close();
});

/** Logs in at the provider as `subject` and returns the path and query of the redirect. */
async function logInAtProvider(address: string, subject: string): Promise<string> {
  const browser = createFormBrowser(provider.issuer);
  let next = address;
  for (let step = 0; step < 8; step += 1) {
    const url = new URL(next, provider.issuer);
    if (url.pathname === "/login/external/callback") return url.pathname + url.search;
    if (url.pathname.startsWith("/interaction/")) url.searchParams.set("name", subject);
    const { location, text } = await browser.get(url.href);
    if (location === null) throw new Error(`the provider stopped at ${url.href}: ${text}`);
    next = location;
  }
  throw new Error("the provider sends the browser in circles");
}

async function begin(browser: FormBrowser, returnTo = "/account"): Promise<string> {
  const answer = await browser.get(`/login/external?return_to=${encodeURIComponent(returnTo)}`);
  expect(answer.status).toBe(303);
  return String(answer.location);
}

/** The whole flow from the login page and back. */
async function logIn(where: Site, subject: string, browser = where.browser()): Promise<PageAnswer> {
  return browser.get(await logInAtProvider(await begin(browser), subject));
}

async function emailOf(browser: FormBrowser): Promise<unknown> {
  const { status, text } = await browser.get("/session");
  return status === 200 ? (JSON.parse(text) as Record<string, unknown>)["email"] : status;
}

describe("logging in through the provider", () => {
  test("is offered on the login page under the provider's name", async () => {
    const { text } = await site.browser().get("/login?return_to=/x");
    expect(text).toContain(`Log in with ${new URL(provider.issuer).host}`);
    expect(text).toContain('href="/login/external?return_to=%2Fx"');
  });

  test("uses the code flow with PKCE S256 and a unique state and nonce for each request", async () => {
    const [first, second] = [await begin(site.browser()), await begin(site.browser())].map(
      (address) => new URL(address).searchParams,
    );
    expect(Object.fromEntries(first ?? [])).toEqual({
      client_id: provider.clientId,
      redirect_uri: `${site.publicUrl}/login/external/callback`,
      response_type: "code",
      scope: "openid email",
      code_challenge_method: "S256",
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{43}$/),
      nonce: expect.stringMatching(/^[\w-]{43}$/),
    });
    for (const name of ["state", "nonce", "code_challenge"]) expect(first?.get(name)).not.toBe(second?.get(name));
  });

  test("creates an account for a new person and logs the person in", async () => {
    provider.users.set("new", { email: "new@example.com", email_verified: true });
    const browser = site.browser();
    const answer = await logIn(site, "new", browser);
    expect([answer.status, answer.location]).toEqual([303, "/account"]);
    expect(await emailOf(browser)).toBe("new@example.com");
    expect((await browser.get("/account")).text).toContain("You log in without a password.");
  });

  test("logs the same person in to the same account, even if the provider states another e-mail address", async () => {
    provider.users.set("mover", { email: "before@example.com", email_verified: true });
    await logIn(site, "mover");
    provider.users.set("mover", { email: "after@example.com", email_verified: false });
    const browser = site.browser();
    await logIn(site, "mover", browser);
    expect(await emailOf(browser)).toBe("before@example.com");
  });

  test("rejects any password for an account without a password", async () => {
    provider.users.set("nopass", { email: "nopass@example.com", email_verified: true });
    await logIn(site, "nopass");
    for (const password of ["x", "nopass", " "])
      expect((await site.browser().logIn("nopass@example.com", password)).status).toBe(403);
  });

  test("creates one account for twelve concurrent first logins of one person", async () => {
    provider.users.set("many", { email: "many@example.com", email_verified: true });
    const answers = await Promise.all(Array.from({ length: 12 }, () => logIn(site, "many")));
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 303));
    expect(await site.query("select 1 from account where email = 'many@example.com'")).toHaveLength(1);
    expect(await site.query("select 1 from external_identity where subject = 'many'")).toHaveLength(1);
  });

  test("rejects a disabled account", async () => {
    provider.users.set("gone", { email: "gone@example.com", email_verified: true });
    await logIn(site, "gone");
    await site.foundation.accounts.disable("gone@example.com");
    const browser = site.browser();
    const answer = await logIn(site, "gone", browser);
    expect([answer.status, await emailOf(browser)]).toEqual([403, 401]);
  });
});

describe("an e-mail address from the provider does not identify an account", () => {
  test.each([true, false])(
    "does not log in to an existing account with that address (verified: %s)",
    async (email_verified) => {
      const person = await site.newPerson();
      provider.users.set("thief", { email: person.email.toUpperCase(), email_verified });
      const browser = site.browser();
      const answer = await logIn(site, "thief", browser);
      expect([answer.status, await emailOf(browser)]).toEqual([403, 401]);
      expect(await site.query("select 1 from external_identity where subject = 'thief'")).toEqual([]);
    },
  );

  test.each([{}, { email: "claimed@example.com" }, { email: "claimed@example.com", email_verified: false }])(
    "creates no account for %j",
    async (user) => {
      provider.users.set("unverified", user);
      expect((await logIn(site, "unverified")).status).toBe(403);
      expect(await site.query("select 1 from account where email = 'claimed@example.com'")).toEqual([]);
    },
  );

  test("creates no account unless the operator allows it", async () => {
    provider.users.set("stranger", { email: "stranger@example.com", email_verified: true });
    const answer = await logIn(closed, "stranger");
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("You have no account here yet")]);
    expect(await closed.query("select 1 from account where email = 'stranger@example.com'")).toEqual([]);
  });
});

describe("connecting the provider's login to an account", () => {
  async function link(browser: FormBrowser, subject: string): Promise<PageAnswer> {
    const form = formsOf((await browser.get("/account")).text).find(({ action }) => action === "/login/external");
    const page = await browser.post("/login/external", form?.fields ?? {});
    const address = /href="(http[^"]*)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    return browser.get(await logInAtProvider(address, subject));
  }

  test("works for its logged-in owner, who can then log in through the provider", async () => {
    const { browser, person } = await closed.loggedIn();
    provider.users.set("owner", {});
    const answer = await link(browser, "owner");
    expect([answer.status, answer.location]).toEqual([303, "/account?done=linked"]);
    expect((await browser.get("/account?done=linked")).text).toContain("You can also log in with");
    const other = closed.browser();
    await logIn(closed, "owner", other);
    expect(await emailOf(other)).toBe(person.email);
  });

  test("rejects a login that is linked to another account", async () => {
    const { browser: first, person } = await closed.loggedIn();
    const { browser: second } = await closed.loggedIn();
    provider.users.set("shared", {});
    await link(first, "shared");
    expect((await link(second, "shared")).status).toBe(409);
    const other = closed.browser();
    await logIn(closed, "shared", other);
    expect(await emailOf(other)).toBe(person.email);
  });

  test("is rejected without the form's token or without a login", async () => {
    const { browser } = await closed.loggedIn();
    expect((await browser.post("/login/external", {})).status).toBe(403);
    expect((await closed.browser().post("/login/external", {})).location).toBe("/login?return_to=%2Faccount");
  });

  test("applies only to the session that requested it, not after another login in the same browser", async () => {
    const { browser } = await closed.loggedIn();
    const someone = await closed.newPerson();
    const form = formsOf((await browser.get("/account")).text).find(({ action }) => action === "/login/external");
    const page = await browser.post("/login/external", form?.fields ?? {});
    const address = /href="(http[^"]*)"/.exec(page.text)?.[1]?.replaceAll("&amp;", "&") ?? "";
    provider.users.set("late", {});
    const back = await logInAtProvider(address, "late");
    const login = formsOf((await browser.get("/login?prompt=login")).text)[0]?.fields;
    await browser.post("/login", { ...login, email: someone.email, password: someone.password });
    expect((await browser.get(back)).status).toBe(403);
    expect(await closed.query("select 1 from external_identity where subject = 'late'")).toEqual([]);
  });
});

describe("a response of the provider", () => {
  beforeAll(() => {
    provider.users.set("person", { email: "person@provider.example", email_verified: true });
  });

  test("logs nobody in if it arrives in another browser", async () => {
    const [asked, other] = [site.browser(), site.browser()];
    const back = await logInAtProvider(await begin(asked), "person");
    expect((await other.get(back)).status).toBe(403);
    await begin(other);
    expect((await other.get(back)).status).toBe(403);
    expect(await emailOf(other)).toBe(401);
  });

  test("can be used once", async () => {
    const browser = site.browser();
    const back = await logInAtProvider(await begin(browser), "person");
    const held = new Map(browser.cookies);
    expect((await browser.get(back)).status).toBe(303);
    const again = site.browser();
    for (const [name, value] of held) again.cookies.set(name, value);
    expect((await again.get(back)).status).toBe(403);
    expect(await emailOf(again)).toBe(401);
  });

  test.each<[string, (query: URLSearchParams) => void]>([
    ["another state", (query) => query.set("state", "A".repeat(43))],
    ["no state", (query) => query.delete("state")],
    ["another issuer (RFC 9207)", (query) => query.set("iss", "https://evil.example")],
    ["another code", (query) => query.set("code", "A".repeat(43))],
    ["no code", (query) => query.delete("code")],
    ["an error", (query) => query.set("error", "access_denied")],
    ["two states", (query) => query.append("state", "x")],
  ])("with %s logs nobody in", async (_what, change) => {
    const browser = site.browser();
    const back = new URL(await logInAtProvider(await begin(browser), "person"), site.url);
    change(back.searchParams);
    const answer = await browser.get(back.pathname + back.search);
    expect([answer.status, await emailOf(browser)]).toEqual([403, 401]);
  });

  test("shows a generic error when the provider denies the login", async () => {
    const browser = site.browser();
    const answer = await browser.get(await logInAtProvider(await begin(browser), ""));
    expect([answer.status, answer.text]).toEqual([403, expect.stringContaining("did not log you in")]);
  });

  test("is rejected after 15 minutes or with a changed cookie", async () => {
    for (const change of [
      (value: string) => value.replace(/^[0-9a-z]+/, Math.floor(Date.now() / 1_000 - 901).toString(36)),
      (value: string) => value.replace(/\.[\w-]*$/, `.${Buffer.from("/elsewhere").toString("base64url")}`),
      () => "x",
    ]) {
      const browser = site.browser();
      const back = await logInAtProvider(await begin(browser), "person");
      browser.cookies.set("patchbay_external", change(browser.cookies.get("patchbay_external") ?? ""));
      expect((await browser.get(back)).status).toBe(403);
    }
  });

  test("can redirect only to this site", async () => {
    const browser = site.browser();
    const answer = await browser.get(await logInAtProvider(await begin(browser, "//evil.example"), "person"));
    expect([answer.status, answer.location]).toEqual([303, "/"]);
  });
});

test("returns 503 for an unavailable provider, and the login page still works", async () => {
  const away = await startSite({
    OIDC_ISSUER: "http://127.0.0.1:1",
    OIDC_CLIENT_ID: "x",
    OIDC_CLIENT_SECRET: "y",
  });
  try {
    const answer = await away.browser().get("/login/external");
    expect([answer.status, answer.text]).toEqual([503, expect.stringContaining("cannot be reached")]);
    const { browser } = await away.loggedIn();
    expect(await emailOf(browser)).toMatch(/@example\.com$/);
  } finally {
    await away.close();
  }
});
