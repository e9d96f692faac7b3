import { mkdir, rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { startStage } from "./console.ts";
import { furnish } from "./furnish.ts";

/** The screenshots' folder, which git ignores. pictures/ keeps the four that README.md shows. */
const FOLDER = fileURLToPath(new URL("screenshots", import.meta.url));

const WIDTHS = [1280, 360] as const;
const SCHEMES = ["light", "dark"] as const;

/** The maximum height of a screenshot, in pixels. */
const MOST_HEIGHT = 1_600;

interface Picture {
  readonly name: string;
  readonly path: string;
  /** Prepares the page before the screenshot. */
  readonly act?: (page: Page) => Promise<void>;
}

test("takes every page in both color schemes at two widths", async () => {
  const stage = await startStage();
  onTestFinished(() => stage.close());
  const person = await stage.site.newPerson(true);
  const { bamboo, handbook, failing } = await furnish(stage, person);
  const { page } = await stage.open(person, { deviceScaleFactor: 1, reducedMotion: "reduce" });
  const guest = await stage.browser.newPage({ reducedMotion: "reduce" });
  const firstVisit = await stage.open(await stage.site.newPerson(), { reducedMotion: "reduce" });

  const pictures: readonly Picture[] = [
    { name: "connections", path: "/connections" },
    { name: "connect-choose", path: "/connections/new" },
    { name: "connect-configure", path: "/connections/new?type=bamboohr" },
    { name: "connect-check", path: `/connections/new?type=bamboohr&created=${bamboo}` },
    { name: "connection-tools", path: `/connections/${bamboo}` },
    { name: "connection-failed", path: `/connections/${failing}` },
    {
      name: "connection-try",
      path: `/connections/${handbook}`,
      async act(at) {
        await at.getByRole("button", { name: "Try get_page" }).click();
        await at.getByRole("dialog").getByLabel("path").fill("benefits/parental-leave");
        await at.getByRole("button", { name: "Call", exact: true }).click();
        await at.getByRole("dialog").getByText("# benefits/parental-leave").waitFor();
      },
    },
    {
      name: "connection-access",
      path: `/connections/${bamboo}?tab=access`,
      act: (at) => at.getByLabel("Read and write").check(),
    },
    { name: "connection-changes", path: `/connections/${handbook}?tab=changes` },
    { name: "connection-settings", path: `/connections/${bamboo}?tab=settings` },
    {
      name: "connection-delete",
      path: `/connections/${bamboo}?tab=settings`,
      act: (at) => at.getByRole("button", { name: "Delete this connection…" }).click(),
    },
    { name: "agents", path: "/agents" },
    { name: "agents-curl", path: `/agents?client=curl&connection=${bamboo}` },
    { name: "tokens", path: "/tokens" },
    {
      name: "tokens-new",
      path: "/tokens",
      act: (at) => at.getByRole("button", { name: "New token" }).click(),
    },
    { name: "clients", path: "/tokens?tab=clients" },
    { name: "applications", path: "/tokens?tab=grants" },
    { name: "activity", path: "/activity" },
    { name: "settings", path: "/settings" },
    { name: "admin-accounts", path: "/admin" },
    { name: "admin-audit", path: "/admin?tab=audit" },
    { name: "admin-keys", path: "/admin?tab=keys" },
    { name: "admin-system", path: "/admin?tab=system" },
  ];

  async function take(on: Page, { name, path, act }: Picture, from = stage.site.url): Promise<void> {
    for (const width of WIDTHS) {
      for (const colorScheme of SCHEMES) {
        await on.setViewportSize({ width, height: width === 360 ? 740 : 800 });
        await on.emulateMedia({ colorScheme });
        await on.goto(from + path, { waitUntil: "load" });
        await on.locator("h1").first().waitFor();
        await expect.poll(() => on.getByText("Loading", { exact: true }).count(), { timeout: 20_000 }).toBe(0);
        await act?.(on);
        await on.waitForTimeout(350);
        const height = Number(await on.evaluate("document.documentElement.scrollHeight"));
        // A taller window instead of a full-page screenshot, in which fixed elements would appear in the middle.
        await on.setViewportSize({ width, height: Math.min(height, MOST_HEIGHT) });
        await on.waitForTimeout(150);
        await on.screenshot({ path: `${FOLDER}/${name}-${colorScheme}-${width}.png` });
      }
    }
  }

  // ONLY=connection-tools retakes the screenshots whose names start with it.
  const only = process.env["ONLY"];
  if (only === undefined) await rm(FOLDER, { recursive: true, force: true });
  await mkdir(FOLDER, { recursive: true });
  const wanted = (picture: Picture) => only === undefined || picture.name.startsWith(only);
  for (const picture of pictures.filter(wanted)) await take(page, picture);
  const others: readonly (readonly [Page, Picture])[] = [
    [guest, { name: "login", path: "/login" }],
    [page, { name: "account", path: "/account" }],
    [page, { name: "account-password", path: "/account/password" }],
    [firstVisit.page, { name: "first-visit", path: "/" }],
    [firstVisit.page, { name: "activity-empty", path: "/activity" }],
    [firstVisit.page, { name: "not-found", path: "/connections/999999" }],
  ];
  for (const [on, picture] of others) if (wanted(picture)) await take(on, picture);
});
