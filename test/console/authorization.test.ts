// @module-tag browser
import { afterAll, beforeAll, expect, test } from "vitest";
import { findAccessibilityFaults } from "../support/browser.ts";
import { type OAuthUpstream, startOAuthUpstream } from "../support/oauth-upstream.ts";
import { type ConsoleStage, startStage } from "./console.ts";

let oauth: OAuthUpstream;
let stage: ConsoleStage;

beforeAll(async () => {
  oauth = await startOAuthUpstream();
  stage = await startStage(oauth.hosts);
}, 90_000);
afterAll(async () => {
  await stage?.close();
  await oauth?.close();
});

test("connects a remote MCP server by login, and again after the authorization was revoked", async () => {
  const { page, complaints } = await stage.open(await stage.site.newPerson());

  /** Follows the link to the vendor, logs in there, and returns to the connection's page. */
  async function logInThere(): Promise<void> {
    await page.getByRole("button", { name: "Log in there", exact: true }).click();
    await page.getByRole("heading", { name: /^Connect “Handbook” to / }).waitFor();
    const asked = page.waitForRequest((request) => request.url().startsWith(oauth.vendor.origin));
    await page.getByRole("button", { name: "Continue and log in there" }).click();
    const back = await oauth.vendor.logIn((await asked).url());
    await page.goto(back);
    await page.getByRole("link", { name: "Go to the connection" }).click();
    await page.getByRole("heading", { name: "Handbook", level: 1 }).waitFor();
    await page.getByText("Authorized", { exact: true }).waitFor({ timeout: 20_000 });
    expect(await page.getByRole("button", { name: "Log in there", exact: true }).count()).toBe(0);
  }

  await page.getByRole("link", { name: "Connect", exact: true }).first().click();
  await page.getByRole("button", { name: /^MCP server/ }).click();
  await page.getByLabel("Name").fill("Handbook");
  await page.getByLabel("URL").fill(oauth.url);
  await page.getByLabel("API token").waitFor({ state: "detached" });
  await page.getByLabel("With a key").check();
  await page.getByLabel("API token").waitFor();
  await page.getByLabel("Log in").check();
  await page.getByLabel("API token").waitFor({ state: "detached" });
  await page.getByLabel("OAuth client secret").waitFor();
  expect(await findAccessibilityFaults(page)).toEqual([]);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("One step is left: log in there").waitFor();
  expect(await findAccessibilityFaults(page)).toEqual([]);

  await page.getByRole("link", { name: "To the connection" }).click();
  await page.getByText("Needs authorization").waitFor();
  await page.getByText("Not authorized yet").waitFor();
  await logInThere();
  await page.getByText("whoami").waitFor({ timeout: 20_000 });

  // The owner authorizes again voluntarily.
  await page.getByRole("tab", { name: "Settings" }).click();
  expect(await findAccessibilityFaults(page)).toEqual([]);
  const settings = new URL(page.url()).pathname;
  await page.getByRole("button", { name: "Log in there again" }).click();
  await page.getByRole("heading", { name: /^Connect “Handbook” to / }).waitFor();
  await page.goto(stage.site.url + settings);

  // After the vendor revokes the authorization, the next call fails and the console offers a new login.
  oauth.vendor.endGrants();
  await page.getByRole("button", { name: "Try whoami" }).click();
  await page.getByRole("button", { name: "Call", exact: true }).click();
  await page.getByText("Needs authorization").waitFor({ timeout: 20_000 });
  await page.getByRole("dialog").getByRole("button", { name: "Close" }).click();
  await logInThere();

  for (const secret of oauth.vendor.secrets) expect(await page.content()).not.toContain(secret);
  expect(complaints).toEqual([]);
}, 90_000);
