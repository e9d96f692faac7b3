import type { CDPSession, Page } from "playwright-core";
import { onTestFinished, test } from "vitest";
import { describeTool } from "../support/upstream.ts";
import { type ConsoleStage, startStage } from "./console.ts";
import { ownerOf } from "./furnish.ts";

/** Number of tools of the measured connection. */
const TOOLS = 1_000;

/** Each figure is the median of this many runs. */
const RUNS = 5;

/** A mid-range phone: four times slower CPU, 1.6 Mbit/s downstream, 150 ms round trip. */
const PHONE = { cpu: 4, downloadBytes: 200_000, uploadBytes: 94_000, latencyMs: 150 };

type BrowserState = Awaited<ReturnType<ReturnType<Page["context"]>["storageState"]>>;

type Figures = Readonly<Record<string, number>>;

/** Collects performance entries while the page loads and is used. Runs before the page's scripts. */
const OBSERVE = `
  globalThis.figures = { lcp: 0, cls: 0, blocked: 0, events: [] };
  const watch = (type, take, more) =>
    new PerformanceObserver((list) => list.getEntries().forEach(take)).observe({ type, buffered: true, ...more });
  watch("largest-contentful-paint", (each) => { figures.lcp = each.startTime; });
  watch("layout-shift", (each) => { if (!each.hadRecentInput) figures.cls += each.value; });
  watch("longtask", (each) => { figures.blocked += Math.max(0, each.duration - 50); });
  watch("event", (each) => { if (each.interactionId > 0) figures.events.push(each.duration); }, { durationThreshold: 16 });
`;

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? 0;
}

function medians(runs: readonly Figures[]): Figures {
  const names = Object.keys(runs[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(runs.map((run) => run[name] ?? 0))]));
}

async function slowDown(page: Page): Promise<CDPSession> {
  const session = await page.context().newCDPSession(page);
  await session.send("Emulation.setCPUThrottlingRate", { rate: PHONE.cpu });
  await session.send("Network.enable");
  await session.send("Network.emulateNetworkConditions", {
    offline: false,
    downloadThroughput: PHONE.downloadBytes,
    uploadThroughput: PHONE.uploadBytes,
    latency: PHONE.latencyMs,
  });
  return session;
}

/** A visit with an empty cache: paints, blocking time, layout shifts, and script size. */
async function load(page: Page, address: string): Promise<Figures> {
  await page.goto(address);
  await page.locator("main table tbody tr").first().waitFor();
  // Time for long tasks and layout shifts after the first rows.
  await page.waitForTimeout(1_000);
  return page.evaluate<Figures>(`({
    "FCP ms": performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? 0,
    "LCP ms": figures.lcp,
    "blocked ms": figures.blocked,
    "CLS": figures.cls,
    "script kB": performance.getEntriesByType("resource")
      .filter(({ name }) => name.endsWith(".js")).reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000,
    "all kB": performance.getEntriesByType("resource").reduce((sum, each) => sum + each.encodedBodySize, 0) / 1000,
  })`);
}

/** The slowest event of an interaction, from key press or click to the next paint. */
async function interact(page: Page, act: () => Promise<void>): Promise<number> {
  await page.evaluate("figures.events.length = 0");
  await act();
  await page.waitForTimeout(300);
  // Browsers do not report events under 16 ms, so they count as 16 ms.
  return Number(await page.evaluate("Math.max(16, ...figures.events)"));
}

async function use(page: Page, url: string): Promise<Figures> {
  await page.goto(`${url}/connections`);
  const link = page.getByRole("link", { name: "A thousand tools" });
  await link.waitFor();
  const opened = await interact(page, async () => {
    await link.click();
    await page.getByText(`${TOOLS} of ${TOOLS} tools`, { exact: false }).waitFor();
  });
  const filtered = await interact(page, async () => {
    await page.getByRole("searchbox", { name: "Search tools" }).pressSequentially("tool_77", { delay: 60 });
    await page.getByText(/^11 of/).waitFor();
  });
  const toggled = await interact(page, async () => {
    const control = page.getByRole("switch", { name: "tool_770 is switched on" });
    const saved = page.waitForResponse((response) => response.request().method() === "PUT");
    await control.press("Space");
    await saved;
  });
  return { "open a connection ms": opened, "filter 1,000 tools ms": filtered, "switch a tool ms": toggled };
}

function show(title: string, figures: Figures): void {
  const cells = Object.entries(figures).map(([name, value]) => `${name} ${Number(value.toFixed(value < 1 ? 3 : 0))}`);
  process.stdout.write(`${title}: ${cells.join(", ")}\n`);
}

async function measure(stage: ConsoleStage, state: BrowserState, id: string): Promise<void> {
  const { url } = stage.site;
  for (const [name, isPhone] of [
    ["this machine", false],
    ["slow phone", true],
  ] as const) {
    for (const path of ["/connections", `/connections/${id}`]) {
      const runs: Figures[] = [];
      for (let run = 0; run < RUNS; run += 1) {
        const page = await stage.browser.newPage({ storageState: state });
        await page.addInitScript(OBSERVE);
        if (isPhone) await slowDown(page);
        runs.push(await load(page, url + path));
        await page.context().close();
      }
      show(`load ${path.replace(/\d+/, "{id}")}, ${name}`, medians(runs));
    }
    const runs: Figures[] = [];
    for (let run = 0; run < RUNS; run += 1) {
      const page = await stage.browser.newPage({ storageState: state });
      await page.addInitScript(OBSERVE);
      if (isPhone) await slowDown(page);
      runs.push(await use(page, url));
      await page.context().close();
    }
    show(`interaction, ${name}`, medians(runs));
  }
}

async function logIn(stage: ConsoleStage) {
  const person = await stage.site.newPerson();
  const owner = await ownerOf(stage, person);
  const { page } = await stage.open(person);
  return { owner, state: await page.context().storageState() };
}

test("measures load and interaction", async () => {
  const stage = await startStage();
  onTestFinished(() => stage.close());
  stage.upstream.tools = Array.from({ length: TOOLS }, (_, at) => describeTool(`tool_${at}`));
  const { owner, state } = await logIn(stage);
  const id = await owner.create({
    server_type: "mcp",
    name: "A thousand tools",
    configuration: { url: stage.upstream.url },
  });
  await owner.waitFor(id, "verified");
  await measure(stage, state, id);
});
