import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rename, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { join } from "node:path";
import type { AxeResults } from "axe-core";
import { type Browser, type BrowserContextOptions, chromium, type Page } from "playwright-core";
import { PROJECT_FOLDER } from "./child-process.ts";

/** A real headless browser. */
export interface HeadlessBrowser {
  /** A page with separate cookies. It is closed with the browser. */
  newPage(options?: BrowserContextOptions): Promise<Page>;
  close(): Promise<void>;
}

const require = createRequire(import.meta.url);

/**
 * The folder of the unpacked browser, shared by all test files. It is unpacked elsewhere and renamed, so that no file
 * runs a partial copy.
 */
async function unpackChromium(): Promise<string> {
  const cache = join(PROJECT_FOLDER, "node_modules", ".cache", "chromium");
  const { version } = JSON.parse(
    await readFile(join(PROJECT_FOLDER, "node_modules/@sparticuz/chromium/package.json"), "utf8"),
  ) as { version: string };
  const folder = join(cache, version);
  if (!existsSync(folder)) {
    await mkdir(cache, { recursive: true });
    const unpacking = await mkdtemp(join(cache, "unpacking-"));
    const before = process.env["TMPDIR"];
    process.env["TMPDIR"] = unpacking;
    try {
      const { default: packed } = await import("@sparticuz/chromium");
      await packed.executablePath();
      await rename(unpacking, folder);
    } catch (error) {
      await rm(unpacking, { recursive: true, force: true });
      // Another test file has unpacked it.
      if (!existsSync(folder)) throw error;
    } finally {
      if (before === undefined) delete process.env["TMPDIR"];
      else process.env["TMPDIR"] = before;
    }
  }
  return join(folder, "chromium");
}

/**
 * Starts Chromium with web security enabled. No sandbox, because tests may run as root and open only the service's
 * pages.
 */
export async function startBrowser(): Promise<HeadlessBrowser> {
  const browser: Browser = await chromium.launch({
    executablePath: await unpackChromium(),
    args: ["--no-sandbox", "--no-zygote", "--disable-gpu", "--disable-dev-shm-usage", "--font-render-hinting=none"],
  });
  return {
    newPage: async (options) => (await browser.newContext(options)).newPage(),
    close: () => browser.close(),
  };
}

/** Lists the violations that axe finds on the page, one line each. */
export async function findAccessibilityFaults(page: Page): Promise<readonly string[]> {
  const source = await readFile(require.resolve("axe-core/axe.min.js"), "utf8");
  // Runs through the debugger, which the page's policy does not restrict.
  await page.evaluate(source);
  // Waits for fade-ins, whose contrast is wrong until they end, but not for endless animations such as skeletons.
  await page.evaluate(`Promise.allSettled(document.getAnimations()
    .filter((each) => each.effect?.getComputedTiming().iterations !== Infinity).map((each) => each.finished))`);
  const { violations } = await page.evaluate<AxeResults>(
    `axe.run(document, { runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] })`,
  );
  return violations.flatMap(({ id, help, nodes }) => nodes.map(({ html }) => `${id}: ${help}: ${html}`));
}

/** Collects policy violations and logged errors from now on. */
export function collectComplaints(page: Page): readonly string[] {
  const complaints: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error" || message.type() === "warning") complaints.push(message.text());
  });
  page.on("pageerror", (error) => complaints.push(error.message));
  return complaints;
}
