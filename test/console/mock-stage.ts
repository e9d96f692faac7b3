import { once } from "node:events";
import { createServer, request, type IncomingMessage, type ServerResponse } from "node:http";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { createAssets } from "../../src/transport/pages/assets.ts";
import { createBuiltPage } from "../../src/transport/pages/built-page.ts";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { startChild } from "../support/child-process.ts";
import { freePort } from "../support/free-port.ts";

/** The built console in front of the contract's mock: every answer that the contract knows can be had at will. */
export interface MockStage {
  readonly url: string;
  /** A page of the console. Somebody is logged in: browser sessions are not in the contract. */
  open(path: string, options?: Parameters<HeadlessBrowser["newPage"]>[0]): Promise<MockPage>;
  close(): Promise<void>;
}

/** A page, and what its policy refused and it logged as wrong. */
export interface MockPage {
  readonly page: Page;
  readonly complaints: readonly string[];
}

const FOLDER = fileURLToPath(new URL("../../src/console/dist", import.meta.url));

const SESSION = {
  GET: { account_id: "acc_mock", email: "ada@example.com", is_admin: true },
  POST: { access_token: "mock", expires_in: 600, scope: "mgmt.read mgmt.write mgmt.admin" },
};

/** Passes a request on to the mock and its answer back. */
function pass(from: IncomingMessage, to: ServerResponse, port: number): void {
  const { method, url, headers } = from;
  const asked = request({ host: "127.0.0.1", port, method, path: url, headers }, (told) => {
    to.writeHead(told.statusCode ?? 500, told.headers);
    told.pipe(to);
  });
  asked.on("error", () => to.destroy());
  from.pipe(asked);
}

/** Starts all of it. */
export async function startMockStage(): Promise<MockStage> {
  const mockPort = await freePort();
  const mock = await startChild({
    command: process.execPath,
    args: ["test/mock/main.ts", "--port", String(mockPort)],
    ready: /^mock listening on /m,
  });
  const assets = createAssets(FOLDER);
  const pages = createBuiltPage(FOLDER, "not built", { forms: "'self'" });
  const server = createServer((incoming, outgoing) => {
    const path = incoming.url ?? "/";
    if (path.startsWith("/assets/console/")) assets(incoming, outgoing);
    else if (/^\/(api|mcp)\//.test(path)) pass(incoming, outgoing, mockPort);
    else if (path.startsWith("/session")) {
      const body = incoming.method === "POST" ? SESSION.POST : SESSION.GET;
      outgoing.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(body));
    } else if (!path.startsWith("/patchbay.v1.")) void pages(incoming, outgoing);
    // A watch is opened and stays silent.
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the stage has no port");
  const url = `http://127.0.0.1:${address.port}`;
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
      server.closeAllConnections();
      server.close();
      await mock.end("SIGTERM");
    },
  };
}

/** Has the mock answer some requests otherwise: with the contract's example of a status, such as `code=503`. */
export async function prefer(page: Page, method: string, path: RegExp, wish: string): Promise<void> {
  await page.route(
    ({ pathname }) => path.test(pathname),
    async (route) => {
      if (route.request().method() !== method) return route.fallback();
      return route.continue({ headers: { ...route.request().headers(), prefer: wish } });
    },
  );
}
