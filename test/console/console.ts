import type { Page } from "playwright-core";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { type Prism, startPrismMock } from "../support/prism.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { type Person, type Site, startSite } from "../identity/login/site.ts";

/** The service with the BambooHR contract, a remote MCP server and a browser. */
export interface ConsoleStage {
  readonly site: Site;
  readonly upstream: Upstream;
  readonly browser: HeadlessBrowser;
  /** A page with a logged-in person. */
  open(person: Person, options?: Parameters<HeadlessBrowser["newPage"]>[0]): Promise<ConsolePage>;
  close(): Promise<void>;
}

/** A page of the console, and the problems it reported. */
export interface ConsolePage {
  readonly page: Page;
  /** Policy violations and logged errors. */
  readonly complaints: readonly string[];
  /** The addresses of requests to other origins. */
  readonly foreign: readonly string[];
}

/** Starts everything. Connections may also reach these hosts. */
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
      // Recording starts here, because the first visit without a session returns 401, which browsers log as an error.
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

/** Connects BambooHR in the browser, waits until its key is verified, and returns the connection's id. */
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
