import type { Page } from "playwright-core";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { type Prism, startPrismMock } from "../support/prism.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { type Person, type Site, startSite } from "../identity/login/site.ts";

/** The service with BambooHR's contract and a remote MCP server behind it, and a browser in front of it. */
export interface ConsoleStage {
  readonly site: Site;
  readonly upstream: Upstream;
  readonly browser: HeadlessBrowser;
  /** A page in which a person is logged in to the console. */
  open(person: Person, options?: Parameters<HeadlessBrowser["newPage"]>[0]): Promise<ConsolePage>;
  close(): Promise<void>;
}

/** A page of the console, and what it did besides showing itself. */
export interface ConsolePage {
  readonly page: Page;
  /** What its policy refused and what it logged as wrong. */
  readonly complaints: readonly string[];
  /** The addresses of requests that left our origin. */
  readonly foreign: readonly string[];
}

/** Starts all of it; connections may reach these hosts besides. */
export async function startStage(hosts: readonly string[] = []): Promise<ConsoleStage> {
  const prism: Prism = await startPrismMock("openapi/integrations/bamboohr.yaml");
  const upstream = await startUpstream();
  const site = await startSite({
    INTEGRATION_BASE_URLS: `bamboohr=${prism.url}`,
    OUTBOUND_ALLOW: [new URL(prism.url).host, upstream.host, ...hosts].join(","),
  });
  const browser = await startBrowser();
  return {
    site,
    upstream,
    browser,
    async open(person, options) {
      const page = await browser.newPage(options);
      const foreign: string[] = [];
      page.on("request", (request) => {
        const { protocol, origin } = new URL(request.url());
        if (protocol !== "data:" && origin !== site.url) foreign.push(request.url());
      });
      await page.goto(`${site.url}/connections`);
      await page.getByLabel("E-mail address").fill(person.email);
      await page.getByLabel("Password").fill(person.password);
      await page.getByRole("button", { name: "Log in" }).click();
      await page.getByRole("heading", { name: "Connections", level: 1 }).waitFor();
      // From here on: a visit without a session is answered with a 401 first, which browsers log as an error.
      return { page, complaints: collectComplaints(page), foreign };
    },
    async close() {
      await browser.close();
      await site.close();
      await upstream.close();
      await prism.stop();
    },
  };
}

/** Connects BambooHR as a person would, and waits until its key is verified. The number of the connection. */
export async function connectBamboo(page: Page, key: string): Promise<string> {
  await page.getByRole("link", { name: "Connect", exact: true }).first().click();
  await page.getByRole("button", { name: /^BambooHR/ }).click();
  await page.getByLabel("Company domain").fill("acme");
  await page.getByLabel("API key").fill(key);
  await page.getByLabel("Read and write").check();
  await page.getByRole("button", { name: "Connect", exact: true }).click();
  await page.getByText("The key works, and the tools are there.").waitFor();
  await page.getByRole("link", { name: "To the connection" }).click();
  await page.getByRole("heading", { name: "BambooHR", level: 1 }).waitFor();
  return new URL(page.url()).pathname.split("/").at(-1) ?? "";
}
