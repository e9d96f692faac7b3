// @module-tag browser
import { afterAll, beforeAll, expect, test } from "vitest";
import { findAccessibilityFaults } from "../support/browser.ts";
import { type ConsoleStage, startStage } from "./console.ts";
import { furnish, type Furnished } from "./furnish.ts";
import type { Person } from "../identity/login/site.ts";

let stage: ConsoleStage;
let person: Person;
let furnished: Furnished;

beforeAll(async () => {
  stage = await startStage();
  person = await stage.site.newPerson();
  furnished = await furnish(stage, person);
}, 120_000);
afterAll(async () => {
  await stage?.close();
});

test("shows tool changes side by side, accepts them individually, and rejects one that changed again", async () => {
  const { page, complaints } = await stage.open(person);
  const { handbook, owner } = furnished;
  await page.getByText("2 changes wait").waitFor();
  await page.getByRole("link", { name: "Acme Handbook" }).click();
  await page.getByRole("tab", { name: /^Changes/ }).click();
  await page.getByRole("heading", { name: "2 changes wait for you" }).waitFor();
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme });
    expect(await findAccessibilityFaults(page)).toEqual([]);
  }

  // The digest of another definition, as on a page loaded earlier.
  await page.route(/tool-changes\/accept/, (route) =>
    route.continue({ postData: JSON.stringify({ changes: [{ tool: "create_page", digest: "A".repeat(43) }] }) }),
  );
  await page.getByRole("button", { name: "Accept the change of create_page" }).click();
  await page.getByText("It changed once more").waitFor();
  await page.unrouteAll();

  await page.getByRole("button", { name: "Accept the change of delete_page" }).click();
  await page.getByText("In force now: delete_page").waitFor();
  await page.getByRole("heading", { name: "1 change waits for you" }).waitFor();
  const { pending } = await owner.call("ListToolChanges", { server_id: handbook });
  expect(pending).toMatchObject([{ tool: "create_page" }]);

  // `check()` expects the mark immediately, but the choice is shown once it is being sent.
  await page.getByRole("radio", { name: "Take it over at once" }).click();
  await expect
    .poll(async () => {
      const { connection } = await owner.call("GetConnection", { server_id: handbook, view: "detailed" });
      return connection;
    })
    .toMatchObject({ accept_tool_changes: "automatic" });
  // The rejected acceptance returns 412, which browsers log.
  expect(complaints.filter((each) => !each.includes("412"))).toEqual([]);
}, 60_000);
