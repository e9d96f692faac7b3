import { request } from "node:http";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { answerJson } from "../../src/transport/http/answer.ts";
import type { HttpExchange } from "../../src/transport/http/exchange.ts";
import { createPort } from "../../src/transport/http/port.ts";
import { servePublic, serveRoutes } from "../../src/transport/http/serve-routes.ts";
import { createConsoleRoutes } from "../../src/transport/pages/files/console.ts";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { startChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";

/** The built console in front of the contract's mock, which can return every documented response. */
export interface MockStage {
  readonly url: string;
  /** A page of the console with a logged-in user, since browser sessions are not in the contract. */
  open(path: string, options?: Parameters<HeadlessBrowser["newPage"]>[0]): Promise<MockPage>;
  close(): Promise<void>;
}

/** A page with its policy violations and logged errors. */
export interface MockPage {
  readonly page: Page;
  readonly complaints: readonly string[];
}

const FOLDER = fileURLToPath(new URL("../../src/console/dist", import.meta.url));

const SESSION = {
  GET: { account_id: "acc_mock", email: "ada@example.com", is_admin: true },
  POST: { access_token: "mock", expires_in: 600, scope: "mgmt.read mgmt.write mgmt.admin" },
};

/** Forwards a request to the mock. */
function pass(exchange: HttpExchange, port: number): void {
  const { request: from, response: to } = exchange.toNode();
  const { method, url, headers } = from;
  const asked = request({ host: "127.0.0.1", port, method, path: url, headers }, (response) => {
    to.writeHead(response.statusCode ?? 500, response.headers);
    response.pipe(to);
  });
  asked.on("error", () => to.destroy());
  from.pipe(asked);
}

export async function startMockStage(): Promise<MockStage> {
  const mockPort = await freePort();
  const mock = await startChild({
    command: process.execPath,
    args: ["test/mock/main.ts", "--port", String(mockPort)],
    ready: /^mock listening on /m,
  });
  const pages = serveRoutes(servePublic(createConsoleRoutes(FOLDER), { error: () => {}, warn: () => {} }));
  const server = createPort({
    host: "127.0.0.1",
    port: 0,
    handler: (exchange) => {
      const { method, target } = exchange;
      if (/^\/(api|mcp)\//.test(target)) pass(exchange, mockPort);
      else if (target.startsWith("/session")) answerJson(exchange, 200, method === "POST" ? SESSION.POST : SESSION.GET);
      else if (!target.startsWith("/patchbay.v1.")) pages(exchange);
      // A watch is opened and stays silent.
    },
  });
  const url = `http://127.0.0.1:${(await server.listen()).port}`;
  const browser = await startBrowser();
  return {
    url,
    async open(path, options) {
      const page = await browser.newPage(options);
      const complaints = collectComplaints(page);
      await page.goto(url + path);
      return { page, complaints };
    },
    async close() {
      await browser.close();
      await server.close(0);
      await mock.end("SIGTERM");
    },
  };
}

/** Makes the mock return the example of another status for some requests, such as `code=503`. */
export async function prefer(page: Page, method: string, path: RegExp, wish: string): Promise<void> {
  await page.route(
    ({ pathname }) => path.test(pathname),
    async (route) => {
      if (route.request().method() !== method) return route.fallback();
      return route.continue({ headers: { ...route.request().headers(), prefer: wish } });
    },
  );
}
