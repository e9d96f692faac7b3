// @module-tag browser
import { stat } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findAccessibilityFaults } from "../support/browser.ts";
import { connectBamboo, type ConsolePage, type ConsoleStage, startStage } from "./console.ts";

let stage: ConsoleStage;
let opened: ConsolePage;
let id: string;

beforeAll(async () => {
  stage = await startStage();
  opened = await stage.open(await stage.site.newPerson(true));
  id = await connectBamboo(opened.page, "0123456789abcdef0123456789abcdef01234567");
}, 120_000);
afterAll(async () => {
  await stage?.close();
});

/** Every page, with a text that shows that it has loaded. */
const PAGES: readonly (readonly [path: string, heading: string])[] = [
  ["/connections", "Connections"],
  ["/connections/new", "Connect"],
  ["/connections/new?type=mcp", "Connect MCP server"],
  ["/connections/new?type=openapi", "Connect OpenAPI document"],
  ["/connections/{id}", "BambooHR"],
  ["/connections/{id}?tab=access", "BambooHR"],
  ["/connections/{id}?tab=changes", "BambooHR"],
  ["/connections/{id}?tab=activity", "BambooHR"],
  ["/connections/{id}?tab=settings", "BambooHR"],
  ["/agents", "Connect an agent"],
  ["/tokens", "Tokens and clients"],
  ["/tokens?tab=clients", "Tokens and clients"],
  ["/tokens?tab=grants", "Tokens and clients"],
  ["/activity", "Activity"],
  ["/settings", "Settings"],
  ["/admin", "Administration"],
  ["/admin?tab=audit", "Administration"],
  ["/admin?tab=keys", "Administration"],
  ["/admin?tab=system", "Administration"],
];

/** The elements that make the page scroll sideways. */
const BEYOND_THE_EDGE = `document.documentElement.scrollWidth <= innerWidth ? [] :
  [...document.querySelectorAll("main *, header *")]
    .filter((each) => each.getBoundingClientRect().right > innerWidth && each.closest(".scroll-x") === null)
    .map((each) => each.outerHTML.slice(0, 160))`;

describe.each(["light", "dark"] as const)("in %s", (colorScheme) => {
  test.each(PAGES)("%s is accessible, fits a phone, and sends no requests to other origins", async (path, heading) => {
    const { page, complaints, foreign } = opened;
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width: 1280, height: 800 });
    await page.goto(stage.site.url + path.replace("{id}", id));
    await page.getByRole("heading", { name: heading, level: 1 }).waitFor();
    await page.waitForLoadState("load");
    await expect.poll(() => page.getByText("Loading", { exact: true }).count(), { timeout: 10_000 }).toBe(0);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 740 });
    // Wait for the animation of the navigation.
    await expect.poll(() => page.evaluate(BEYOND_THE_EDGE), { timeout: 5_000 }).toEqual([]);
    expect(foreign).toEqual([]);
    expect(complaints).toEqual([]);
  });
});

test("the console's policy allows only its own scripts and styles", async () => {
  const response = await fetch(`${stage.site.url}/connections`);
  const policy = response.headers.get("content-security-policy") ?? "";
  expect(policy).toContain("script-src 'self'");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).not.toContain("unsafe");
  const again = await fetch(`${stage.site.url}/connections`);
  expect(again.headers.get("content-security-policy")).not.toBe(policy);
});

test("the first page loads less than 250 kB of compressed script", async () => {
  const storageState = await opened.page.context().storageState();
  const page = await stage.browser.newPage({ storageState });
  const names = new Set<string>();
  page.on("response", (response) => {
    const { pathname } = new URL(response.url());
    if (pathname.endsWith(".js")) names.add(pathname);
  });
  await page.goto(`${stage.site.url}/`);
  await page.getByRole("link", { name: "BambooHR" }).waitFor();
  await page.waitForLoadState("load");
  const folder = fileURLToPath(new URL("../../src/console/dist", import.meta.url));
  const sizes = await Promise.all([...names].map(async (name) => (await stat(`${folder}${name}.gz`)).size));
  expect(sizes.length).toBeGreaterThan(0);
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(250_000);
  await page.context().close();
});

test("a direct login leads to the console", async () => {
  const page = await stage.browser.newPage();
  const person = await stage.site.newPerson();
  await page.goto(`${stage.site.url}/login`);
  await page.getByLabel("E-mail address").fill(person.email);
  await page.getByLabel("Password").fill(person.password);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.getByRole("heading", { name: "Connections", level: 1 }).waitFor();
  await page.goto(`${stage.site.url}/account`);
  await page.getByRole("link", { name: "To the console" }).click();
  await page.getByRole("heading", { name: "Connections", level: 1 }).waitFor();
});
