import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LOGIN_LIMITS } from "../../../src/identity/login/login-limits.ts";
import { createPurge } from "../../../src/storage/stores/connections/purge.ts";
import { createFormBrowser, formsOf, type PageAnswer } from "../../support/form-browser.ts";
import { type Person, type Site, startSite } from "./site.ts";

let site: Site;
let replica: string;

beforeAll(async () => {
  // The proxy states the caller's address, so that a test can use many.
  site = await startSite({ TRUST_PROXY: "true" });
  replica = await site.replica();
});
afterAll(() => site.close());

async function attempt(address: string, email: string, password: string, url = site.url): Promise<PageAnswer> {
  const browser = createFormBrowser(url, site.publicUrl);
  const from = { "x-forwarded-for": address, "x-forwarded-proto": "https", origin: site.publicUrl };
  const fields = formsOf((await browser.get("/login", from)).text)[0]?.fields;
  return browser.post("/login", { ...fields, email, password }, from);
}

async function guess(times: number, address: string, email: string, url = site.url): Promise<number[]> {
  const statuses: number[] = [];
  for (let at = 0; at < times; at += 1) statuses.push((await attempt(address, email, "a wrong guess", url)).status);
  return statuses;
}

const { tries } = LOGIN_LIMITS.accountFromAddress;

describe("guessing at a password", () => {
  test("is blocked after a few attempts from one address, even with the right password, and returns a retry time", async () => {
    const person = await site.newPerson();
    expect(await guess(tries, "192.0.2.1", person.email)).toEqual(Array<number>(tries).fill(403));
    const refused = await attempt("192.0.2.1", person.email, person.password);
    expect([refused.status, refused.text]).toEqual([429, expect.stringContaining("Too many attempts")]);
    expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(0);
    expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(
      LOGIN_LIMITS.accountFromAddress.windowSeconds,
    );
  });

  test("from one address does not lock out the owner at another", async () => {
    const person = await site.newPerson();
    await guess(tries + 2, "192.0.2.2", person.email);
    expect((await attempt("198.51.100.2", person.email, person.password)).status).toBe(303);
  });

  test("is counted over all replicas together", async () => {
    const { email } = await site.newPerson();
    await guess(tries / 2, "192.0.2.3", email);
    expect((await guess(tries / 2 + 1, "192.0.2.3", email, replica)).at(-1)).toBe(429);
  });

  test("is counted for an unknown e-mail address as well", async () => {
    const statuses = await guess(tries + 1, "192.0.2.4", "nobody@example.com");
    expect(statuses).toEqual([...Array<number>(tries).fill(403), 429]);
  });

  test("is counted for any case of the e-mail address", async () => {
    const { email } = await site.newPerson();
    await guess(tries, "192.0.2.5", email.toUpperCase());
    expect(await guess(1, "192.0.2.5", email)).toEqual([429]);
  });

  test("gets no more attempts when they are concurrent", async () => {
    const { email } = await site.newPerson();
    const answers = await Promise.all(
      Array.from({ length: 24 }, (_, at) => attempt("192.0.2.6", email, "a wrong guess", at % 2 ? replica : site.url)),
    );
    expect(answers.filter(({ status }) => status === 403).length).toBe(tries);
  });

  test("is reset by a successful login and at the end of the window", async () => {
    const person = await site.newPerson();
    await guess(tries - 1, "192.0.2.7", person.email);
    expect((await attempt("192.0.2.7", person.email, person.password)).status).toBe(303);
    expect(await guess(1, "192.0.2.7", person.email)).toEqual([403]);

    await site.query("update login_failure set expire = 1");
    await createPurge(site.foundation.database.pool).expired();
    expect(await site.query("select 1 from login_failure")).toEqual([]);
  });

  test("at many accounts from one address is blocked too, and successful logins do not count", async () => {
    const person = await site.newPerson();
    const { tries: most } = LOGIN_LIMITS.address;
    for (let at = 0; at < 3; at += 1)
      expect((await attempt("2001:db8::1", person.email, person.password)).status).toBe(303);
    // Most attempts are rejected by the account's limit before hashing; each counts for the address anyway.
    await Promise.all(Array.from({ length: most - 1 }, () => attempt("2001:db8::2", "victim@example.com", "summer")));
    expect((await attempt("2001:db8::2", "other@example.com", "summer")).status).toBe(403);
    // Another address of the same /64, which one customer usually has.
    expect((await attempt("2001:db8::3", "another@example.com", "summer")).status).toBe(429);
    expect((await attempt("2001:db8:0:1::1", "another@example.com", "summer")).status).toBe(403);
  });

  test("at one account from very many addresses is blocked too", async () => {
    const { email } = await site.newPerson();
    await site.query("delete from login_failure");
    await guess(1, "203.0.113.1", email);
    const { tries: most } = LOGIN_LIMITS.account;
    await site.query("update login_failure set points = $1 where key like 'account:%'", [most - 1]);
    expect(await guess(1, "203.0.113.2", email)).toEqual([403]);
    expect(await guess(1, "203.0.113.3", email)).toEqual([429]);
  });

  test("stores no account name", async () => {
    await attempt("192.0.2.9", "secret-name@example.com", "a wrong guess");
    expect(JSON.stringify(await site.query("select * from login_failure"))).not.toMatch(/secret-name|192\.0\.2/);
  });
});

describe("the current password, on the page for a new one", () => {
  test("cannot be guessed from a logged-in browser", async () => {
    const person: Person = await site.newPerson();
    const browser = createFormBrowser(site.url, site.publicUrl);
    const fields = formsOf((await browser.get("/login")).text)[0]?.fields;
    await browser.post("/login", { ...fields, email: person.email, password: person.password });
    const form = formsOf((await browser.get("/account/password")).text)[0]?.fields;
    const next = "four unrelated words here";
    const change = (current: string) => browser.post("/account/password", { ...form, current, next, repeated: next });
    for (let at = 0; at < tries; at += 1) expect((await change("a wrong guess")).status).toBe(403);
    expect((await change(person.password)).status).toBe(429);
  });
});

describe("the audit log", () => {
  test("contains every successful and failed login, but no password or cookie", async () => {
    const person = await site.newPerson();
    await attempt("192.0.2.20", person.email, "a wrong guess");
    const { headers } = await attempt("192.0.2.20", person.email, person.password);
    const rows = await site.query(
      "select action, outcome, address from audit_event where account_id = $1 and action = 'session.login' order by id",
      [person.accountId],
    );
    expect(rows).toEqual([
      { action: "session.login", outcome: "refused", address: "192.0.2.20" },
      { action: "session.login", outcome: "ok", address: "192.0.2.20" },
    ]);
    const everything = JSON.stringify(await site.query("select * from audit_event"));
    const cookie = headers.getSetCookie().find((line) => line.includes("_session="));
    const secret = /\.([\w-]{43});/.exec(cookie ?? "")?.[1] ?? "no cookie";
    for (const word of [person.password, "a wrong guess", secret]) expect(everything).not.toContain(word);
  });
});
