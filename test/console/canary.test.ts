// @module-tag browser
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type ConsoleStage, connectBamboo, startStage } from "./console.ts";

let stage: ConsoleStage;

beforeAll(async () => {
  stage = await startStage();
}, 90_000);
afterAll(async () => {
  await stage?.close();
});

/** One secret per form, so that a leak identifies its form. */
const CANARIES = {
  connected: "canary-connected-0f2a6c1e9b7d4385",
  replaced: "canary-replaced-51d7f0a29c3e8b64",
  tried: "canary-tried-7b90e4d2c6a1f358",
  token: "canary-token-c3f61b8e07a94d25",
  client: "canary-client-94b0d7e3f16a2c58",
} as const;

/** Leaves the page with the form. */
async function leave(page: Page): Promise<void> {
  await page.goto(`${stage.site.url}/connections`);
  await page.getByRole("heading", { name: "Connections", level: 1 }).waitFor();
}

test("a secret typed into any form appears later in no page, address, storage or response", async () => {
  const { page } = await stage.open(await stage.site.newPerson(true));
  const seen: string[] = [];
  const reading: Promise<unknown>[] = [];
  page.on("framenavigated", (frame) => seen.push(frame.url()));
  page.on("request", (request) => seen.push(request.url()));
  page.on("response", (response) => {
    // Only responses count. A closed page has no bodies any more.
    reading.push(
      response.text().then(
        (text) => seen.push(text),
        () => undefined,
      ),
    );
  });

  const id = await connectBamboo(page, CANARIES.connected);
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByLabel("New key").fill(CANARIES.replaced);
  await page.getByRole("button", { name: "Replace the key" }).click();
  await expect.poll(() => page.getByLabel("New key").inputValue()).toBe("");
  await leave(page);

  await page.goto(`${stage.site.url}/connections/new?type=bamboohr`);
  await page.getByLabel("Company domain").fill("acme");
  await page.getByLabel("API key").fill(CANARIES.tried);
  await page.getByRole("button", { name: "Try it first" }).click();
  await page.getByRole("status").filter({ hasText: "The key" }).waitFor();
  await leave(page);

  stage.upstream.key = "another-one";
  await page.goto(`${stage.site.url}/connections/new?type=mcp`);
  await page.getByLabel("URL").fill(stage.upstream.url);
  await page.getByLabel("With a key").check();
  await page.getByLabel("API token").fill(CANARIES.token);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("The key was refused").waitFor();
  await leave(page);

  await page.goto(`${stage.site.url}/connections/new?type=mcp`);
  await page.getByLabel("URL").fill(stage.upstream.url);
  await page.getByLabel("Log in").check();
  await page.getByLabel("OAuth client id").fill("by-hand");
  await page.getByLabel("OAuth client secret").fill(CANARIES.client);
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("One step is left: log in there").waitFor();
  await leave(page);

  // Every page that could contain a secret.
  for (const path of ["/connections", `/connections/${id}?tab=settings`, "/tokens", "/activity", "/admin?tab=audit"]) {
    await page.goto(stage.site.url + path);
    await page.locator("h1").first().waitFor();
    await expect.poll(() => page.getByText("Loading", { exact: true }).count()).toBe(0);
    seen.push(await page.content());
  }
  seen.push(
    String(await page.evaluate("JSON.stringify({ ...localStorage, ...sessionStorage, cookie: document.cookie })")),
  );
  seen.push(String(await page.evaluate("JSON.stringify(history.state)")));
  // The watch is an endless response; closing the page ends it.
  await page.context().close();
  await Promise.all(reading);

  expect(seen.length).toBeGreaterThan(50);
  const leaked = Object.entries(CANARIES).filter(([, canary]) => seen.some((text) => text.includes(canary)));
  expect(leaked).toEqual([]);
}, 90_000);
