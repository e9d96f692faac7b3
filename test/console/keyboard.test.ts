// @module-tag browser
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Page } from "playwright-core";
import { type MockStage, startMockStage } from "./mock-stage.ts";

let stage: MockStage;

beforeAll(async () => {
  stage = await startMockStage();
}, 60_000);
afterAll(async () => {
  await stage?.close();
});

/** The focused element: its tag and text. */
async function focused(page: Page): Promise<string> {
  return String(
    await page.evaluate(`(() => {
      const { tagName, textContent, ariaLabel } = document.activeElement ?? document.body;
      return tagName.toLowerCase() + " " + (ariaLabel ?? textContent ?? "").slice(0, 40);
    })()`),
  );
}

test("the first Tab focuses a link that skips to the content, and Enter follows it", async () => {
  const { page } = await stage.open("/connections");
  await page.getByText("Acme People").waitFor();
  await page.keyboard.press("Tab");
  expect(await focused(page)).toBe("a Skip to the content");
  expect(await page.getByRole("link", { name: "Skip to the content" }).boundingBox()).toMatchObject({ y: 8 });
  await page.keyboard.press("Enter");
  await expect.poll(() => page.evaluate("document.activeElement?.id")).toBe("main");
  await page.context().close();
});

test("navigation moves the focus to the new page's heading; opening or filtering a page does not", async () => {
  const { page } = await stage.open("/connections");
  await page.getByText("Acme People").waitFor();
  expect(await focused(page)).toMatch(/^body/);
  await page.getByRole("link", { name: "Settings" }).press("Enter");
  await expect.poll(() => focused(page)).toBe("h1 Settings");
  await page.goBack();
  await expect.poll(() => focused(page)).toBe("h1 Connections");
  await page.getByRole("link", { name: "Acme People" }).press("Enter");
  await expect.poll(() => focused(page)).toBe("h1 Acme People");
  await page.getByRole("tab", { name: "Access" }).press("Enter");
  await page.getByText("How far agents may go").waitFor();
  expect(await focused(page)).toBe("button Access");
  await page.context().close();
});

test.each([
  ["/connections", "Search connections"],
  ["/connections/new", "Search the catalog"],
  ["/connections/2", "Search tools"],
  ["/admin", "Search accounts"],
])("on %s a slash focuses the search, except inside a text field", async (path, label) => {
  const { page } = await stage.open(path);
  const search = page.getByRole("searchbox", { name: label });
  await search.waitFor();
  await page.keyboard.press("/");
  expect(await focused(page)).toBe(`input ${label}`);
  expect(await search.inputValue()).toBe("");
  await page.keyboard.type("a/b");
  expect(await search.inputValue()).toBe("a/b");
  await page.context().close();
});

const IS_INSIDE = `document.querySelector("[role=dialog]").contains(document.activeElement)`;

describe("dialogs and menus", () => {
  test.each([
    ["/tokens", "New token", "Name"],
    ["/tokens", "New client", "Name"],
    ["/connections/2", "Try get_file", "Close"],
    ["/connections/2?tab=settings", "Delete this connection…", "Type “Acme Handbook” to be sure"],
  ])("on %s “%s” takes the focus, keeps it, and returns it", async (path, opener, first) => {
    const { page } = await stage.open(path);
    await page.getByRole("button", { name: opener }).press("Enter");
    const dialog = page.getByRole("dialog");
    await dialog.waitFor();
    await expect.poll(() => page.evaluate(IS_INSIDE)).toBe(true);
    await dialog.getByLabel(first).first().waitFor();
    await page.keyboard.press("/");
    for (let at = 0; at < 30; at += 1) await page.keyboard.press("Tab");
    expect(await page.evaluate(IS_INSIDE)).toBe(true);
    await page.keyboard.press("Escape");
    await dialog.waitFor({ state: "detached" });
    await expect.poll(() => focused(page)).toContain(opener);
    await page.context().close();
  });

  test("a confirmation dialog returns the focus when it is canceled", async () => {
    const { page } = await stage.open("/tokens");
    const revoke = page.getByRole("button", { name: "Revoke My laptop" });
    await revoke.press("Enter");
    await page.getByRole("button", { name: "No", exact: true }).press("Enter");
    await expect.poll(() => focused(page)).toBe("button Revoke My laptop");
    await page.context().close();
  });
});

test("every element that Tab reaches shows its focus", async () => {
  // Transitions are off, so that the focus style is visible immediately.
  const { page } = await stage.open("/connections/2", { reducedMotion: "reduce" });
  await page.getByText("create_page").first().waitFor();
  const unseen: string[] = [];
  for (let at = 0; at < 40; at += 1) {
    await page.keyboard.press("Tab");
    const found: unknown = await page.evaluate(`(() => {
      const at = document.activeElement;
      if (at === null || at === document.body) return "";
      const looks = (node) => {
        const { outlineStyle, outlineWidth, boxShadow, borderColor } = getComputedStyle(node);
        return [outlineStyle === "none" ? "" : outlineStyle + outlineWidth, boxShadow, borderColor].join();
      };
      // A switch or a box draws the ring around what stands for it.
      const parts = [at, at.nextElementSibling, at.parentElement, at.closest("[class*=Input-wrapper]")];
      const before = parts.map((node) => node === null ? "" : looks(node)).join("|");
      at.blur();
      const after = parts.map((node) => node === null ? "" : looks(node)).join("|");
      at.focus();
      return before === after ? at.outerHTML.slice(0, 120) : "";
    })()`);
    if (found !== "") unseen.push(String(found));
  }
  expect(unseen).toEqual([]);
  await page.context().close();
});

test("shows no motion if the user prefers reduced motion", async () => {
  const { page } = await stage.open("/tokens", { reducedMotion: "reduce" });
  await page.getByRole("button", { name: "New token" }).click();
  await page.getByRole("dialog").waitFor();
  const moving = await page.evaluate(`document.getAnimations()
    .filter(({ effect }) => Number(effect?.getComputedTiming().activeDuration) > 1).length`);
  expect(moving).toBe(0);
  await page.context().close();
});

test("a logo shows the initials of the name and is hidden from screen readers", async () => {
  const { page } = await stage.open("/connections");
  const row = page.getByRole("row", { name: /Acme People/ });
  await row.waitFor();
  expect(await row.locator("[aria-hidden=true]").first().textContent()).toBe("AP");
  await page.context().close();
});
