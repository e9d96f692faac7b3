// @module-tag browser
import { createServer } from "node:http";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  collectComplaints,
  findAccessibilityFaults,
  type HeadlessBrowser,
  startBrowser,
} from "../../support/browser.ts";
import { attempt, type CodeClient, insertCodeClient, redeem } from "../oauth/code-flow.ts";
import { type Person, type Site, startSite } from "../../identity/login/site.ts";

let site: Site;
let browser: HeadlessBrowser;
let client: CodeClient;
let closeClient: () => void;

beforeAll(async () => {
  site = await startSite();
  browser = await startBrowser();
  // The client: another origin, which displays the parameters of its redirect URI.
  const server = createServer((request, response) => {
    response.setHeader("content-type", "text/html").end("<!doctype html><title>The client</title>");
    request.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  closeClient = () => {
    server.closeAllConnections();
    server.close();
  };
  const address = server.address();
  const port = typeof address === "object" ? String(address?.port) : "";
  const owner = await site.foundation.accounts.find((await site.newPerson()).accountId);
  const { database, pepper } = site.foundation;
  const installation = { database, pepper: Buffer.from(pepper) };
  client = await insertCodeClient(installation, owner, { redirectUris: [`http://127.0.0.1:${port}/callback`] });
}, 60_000);
afterAll(async () => {
  closeClient?.();
  await browser?.close();
  await site?.close();
});

async function personWithConnections(): Promise<Person> {
  const person = await site.newPerson();
  const account = await site.foundation.accounts.find(person.accountId);
  const request = { scope: "mgmt.write", name: "", connectionId: undefined, expiresInDays: undefined };
  const { token } = await site.foundation.personalAccessTokens.create(account, request);
  for (const name of ["People & pay", "<b>Archive</b>"]) {
    const response = await fetch(`${site.url}/api/v1/mcp-servers`, {
      method: "POST",
      headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
      body: JSON.stringify({ server_type: "bamboohr", name, configuration: { company_domain: "example" } }),
    });
    expect(response.status).toBe(201);
  }
  return person;
}

/** Follows the client's authorization link and logs in on the login page. */
async function arrive(page: Page, { email, password }: Person): Promise<string> {
  const { path, verifier } = attempt(client);
  await page.goto(site.url + path);
  await page.getByLabel("E-mail address").fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Log in" }).click();
  return verifier;
}

/** Redeems the code in the current URL of the browser. */
async function redeemAt(address: string, verifier: string): Promise<Record<string, unknown>> {
  const { searchParams } = new URL(address);
  expect([searchParams.get("state"), searchParams.get("iss")]).toEqual(["the state", site.publicUrl]);
  const code = searchParams.get("code") ?? "";
  return (await redeem({ issuer: site.publicUrl }, client, { code, verifier })).body;
}

describe("authorization of an OAuth client in a browser", () => {
  test("the person logs in, approves some connections and returns to the client with a valid code", async () => {
    const person = await personWithConnections();
    const page = await browser.newPage({ javaScriptEnabled: false });
    const verifier = await arrive(page, person);
    await page.getByRole("heading", { name: /Allow “The test's client”/ }).waitFor();
    await page.getByLabel("Only those ticked here").check();
    await page.getByLabel("People & pay").check();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.waitForURL(`${client.redirectUri}?**`);
    expect(await redeemAt(page.url(), verifier)).toMatchObject({
      access_token: expect.any(String),
      token_type: "Bearer",
      scope: "mcp.read mcp.write",
    });
  });

  test("a person who already approved the client logs in and returns to the client without a second consent page", async () => {
    const person = await site.newPerson();
    const first = await browser.newPage();
    await arrive(first, person);
    await first.getByRole("button", { name: "Allow", exact: true }).click();
    await first.waitForURL(`${client.redirectUri}?**`);
    const second = await browser.newPage();
    const complaints = collectComplaints(second);
    const verifier = await arrive(second, person);
    await second.waitForURL(`${client.redirectUri}?**`);
    expect(complaints.filter((text) => text.includes("Content Security Policy"))).toEqual([]);
    expect(await redeemAt(second.url(), verifier)).toHaveProperty("access_token");
  });

  test("denial redirects to the client with access_denied and without a code", async () => {
    const page = await browser.newPage();
    await arrive(page, await site.newPerson());
    await page.getByRole("button", { name: "Do not allow" }).click();
    await page.waitForURL(`${client.redirectUri}?**`);
    const { searchParams } = new URL(page.url());
    expect([searchParams.get("error"), searchParams.get("code")]).toEqual(["access_denied", null]);
  });
});

describe.each(["light", "dark"] as const)("consent in a %s browser", (colorScheme) => {
  test("the consent page passes the accessibility check without a violation of its content security policy", async () => {
    const page = await browser.newPage({ colorScheme, viewport: { width: 360, height: 640 } });
    const complaints = collectComplaints(page);
    await arrive(page, await personWithConnections());
    await page.getByRole("heading", { name: /^Allow/ }).waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    expect(await page.getByText("<b>Archive</b>").count()).toBe(1);
    expect(await page.evaluate("document.documentElement.scrollWidth <= innerWidth")).toBe(true);
    await page.getByLabel("Only those ticked here").check();
    await page.getByRole("button", { name: "Allow", exact: true }).click();
    await page.getByRole("alert").waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    expect(complaints.filter((text) => !/status of 4\d\d/.test(text))).toEqual([]);
  });

  test("the error page for an invalid authorization request passes the accessibility check", async () => {
    const page = await browser.newPage({ colorScheme });
    await page.goto(`${site.url}/oauth2/authorize?client_id=nobody`);
    await page.getByRole("heading").waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
  });
});
