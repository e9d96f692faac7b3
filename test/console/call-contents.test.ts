// @module-tag browser
import type { Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { findAccessibilityFaults } from "../support/browser.ts";
import { type MockStage, prefer, startMockStage } from "./mock-stage.ts";

let stage: MockStage;

beforeAll(async () => {
  stage = await startMockStage();
}, 60_000);
afterAll(async () => {
  await stage?.close();
});

/** Opens a blank page of the service first, so that responses can be mocked before the page requests them. */
async function arrange(): Promise<Page> {
  const { page } = await stage.open("/assets/console/none");
  return page;
}

describe("the contents of a call", () => {
  test("show the arguments as a tree and the result as returned, if they are kept", async () => {
    const { page, complaints } = await stage.open("/activity");
    await page.getByRole("button", { name: /What was said in get_employee/ }).press("Enter");
    const call = page.getByRole("dialog", { name: "A call of get_employee" });
    await call.getByRole("heading", { name: "Arguments" }).waitFor();
    expect(await call.textContent()).toMatch(/fields: .*"jobTitle".*Result.*jobTitle: .*"Designer".*Kept until/s);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.keyboard.press("Escape");
    await call.waitFor({ state: "hidden" });
    expect(complaints).toEqual([]);
    await page.context().close();
  });

  test("show that they are not kept, and how to change that", async () => {
    const { page } = await stage.open("/activity");
    await page.getByRole("button", { name: /Details in search_pages/ }).click();
    const call = page.getByRole("dialog", { name: "A call of search_pages" });
    await call.getByText("What was said is not kept").waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await call.getByRole("link", { name: "See what this connection keeps" }).click();
    await page.getByRole("heading", { name: "What is kept of calls" }).waitFor();
    expect(new URL(page.url()).pathname).toBe("/connections/2");
    await page.context().close();
  });

  test("show that they were deleted meanwhile", async () => {
    const page = await arrange();
    await prefer(page, "GET", /\/calls\/812$/, "code=404");
    await page.goto(`${stage.url}/connections/1?tab=activity`);
    await page.getByRole("button", { name: /What was said in get_employee/ }).click();
    await page
      .getByRole("alert")
      .getByText(/are not stored|not found/)
      .waitFor();
    await page.context().close();
  });
});

describe("the retention of call contents", () => {
  test("can be set on the connection's page, which warns about deletion before lowering it", async () => {
    const page = await arrange();
    await page.goto(`${stage.url}/connections/1?tab=activity`);
    const choice = page.getByRole("combobox", { name: "Arguments and results" });
    await choice.waitFor();
    expect(await choice.inputValue()).toBe("For 7 days");
    const save = page.getByRole("button", { name: "Save" });
    expect(await save.isDisabled()).toBe(true);
    await choice.click();
    await page.getByRole("option", { name: "Not kept" }).click();
    await page.getByText("What is kept is deleted").waitFor();
    expect(await findAccessibilityFaults(page)).toEqual([]);
    const [request] = await Promise.all([page.waitForRequest((each) => each.method() === "PUT"), save.click()]);
    expect(request.postDataJSON()).toEqual({ keep_contents_days: 0 });
    await page.context().close();
  });

  test("stays unchanged with a reason if the update is rejected", async () => {
    const page = await arrange();
    await prefer(page, "PUT", /^\/api\/v1\/mcp-servers\/1$/, "code=403");
    await page.goto(`${stage.url}/connections/1?tab=activity`);
    await page.getByRole("combobox", { name: "Arguments and results" }).click();
    await page.getByRole("option", { name: "For 30 days" }).click();
    await page.getByRole("button", { name: "Save" }).click();
    await page.getByText("You do not have permission to update this connection").waitFor();
    expect(await page.getByRole("button", { name: "Save" }).isEnabled()).toBe(true);
    await page.context().close();
  });
});

describe("the list of connections", () => {
  test("shows each connection's last use and today's share of failed calls", async () => {
    const { page } = await stage.open("/connections");
    await page.getByText(/^100%: /).waitFor();
    const row = page.getByRole("row", { name: /Handbook/ });
    expect(await row.textContent()).toContain("1 of 1 calls failed in the last 24 hours");
    expect(await row.locator("time[datetime='2026-07-03T14:20:01.093Z']").last().isVisible()).toBe(true);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.context().close();
  });

  test("shows them below the name on a phone", async () => {
    const { page } = await stage.open("/connections", { viewport: { width: 360, height: 740 } });
    await page.getByText(/Used .* 100% errors/).waitFor();
    expect(await page.getByRole("columnheader", { name: "Last used" }).isVisible()).toBe(false);
    expect(await findAccessibilityFaults(page)).toEqual([]);
    await page.context().close();
  });

  test("is shown without them if usage is unavailable", async () => {
    const page = await arrange();
    await prefer(page, "GET", /\/usage\/connections$/, "code=503");
    await page.goto(`${stage.url}/connections`);
    await page.getByRole("link", { name: "Acme People" }).waitFor();
    expect(await page.getByRole("alert").count()).toBe(0);
    await page.context().close();
  });
});
