// @module-tag browser
import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { build } from "vite";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { collectComplaints, type HeadlessBrowser, startBrowser } from "../support/browser.ts";
import { PROJECT_FOLDER } from "../support/child-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { type Service, startService } from "../support/service.ts";

let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let browser: HeadlessBrowser;
/** Serves a page from another origin than the service. */
let elsewhere: Server;
let origin: string;

beforeAll(async () => {
  database = await createTestDatabase();
  elsewhere = createServer((_, response) => {
    response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><title>Elsewhere</title>");
  }).listen(0, "127.0.0.1");
  await once(elsewhere, "listening");
  origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  service = await startService({ databaseUrl: database.url, env: { CORS_ORIGINS: origin } });
  accounts = await openAccounts(service.env);
  browser = await startBrowser();
}, 60_000);
afterAll(async () => {
  await browser?.close();
  elsewhere?.close();
  await accounts?.close();
  await service?.stop();
  await database?.close();
});

/** The page's code: Connect's gRPC-Web client and the generated service. */
const PROGRAM = `
import { createClient } from "@connectrpc/connect";
import { createGrpcWebTransport } from "@connectrpc/connect-web";
import { ConnectionService } from "${PROJECT_FOLDER}/gen/proto/patchbay/v1/connection_service_pb.ts";
globalThis.story = async (baseUrl, token) => {
  const connections = createClient(ConnectionService, createGrpcWebTransport({ baseUrl }));
  const headers = { authorization: "Bearer " + token };
  const configuration = { company_domain: "acme" };
  const { serverId } = await connections.createConnection({ serverType: "bamboohr", configuration }, { headers });
  let event;
  for await (const each of connections.watchConnections({ serverId }, { headers })) {
    event = each.event;
    break;
  }
  const { data } = await connections.listConnections({}, { headers });
  await connections.deleteConnection({ serverId }, { headers });
  const failures = [];
  for (const options of [{ headers }, {}])
    await connections.getConnection({ serverId }, options).catch(({ code, rawMessage }) => failures.push([code, rawMessage]));
  return { serverId, hasEvent: event !== undefined, listed: data.length, failures };
};
`;

async function bundle(): Promise<string> {
  const id = "virtual:story";
  const built = await build({
    configFile: false,
    root: PROJECT_FOLDER,
    logLevel: "error",
    plugins: [
      {
        name: "story",
        resolveId: (name) => (name === id ? `${PROJECT_FOLDER}/story.js` : undefined),
        load: (name) => (name === `${PROJECT_FOLDER}/story.js` ? PROGRAM : undefined),
      },
    ],
    build: { write: false, rolldownOptions: { input: id, output: { format: "iife" } } },
  });
  if (!("output" in built)) throw new Error("vite produced no output");
  return built.output[0].code;
}

test("a page of an allowed origin creates, watches, lists and deletes over gRPC-Web, and reads codes and messages", async () => {
  const token = await (await accounts.create()).token();
  const page = await browser.newPage();
  const complaints = collectComplaints(page);
  await page.goto(`${origin}/`);
  await page.evaluate(await bundle());
  const result: unknown = await page.evaluate(
    `story(${JSON.stringify(service.url)}, ${JSON.stringify(token)}).catch((error) => error.message)`,
  );
  expect(complaints).toEqual([]);
  expect(result).toEqual({
    serverId: expect.stringMatching(/^\d+$/),
    hasEvent: true,
    listed: 1,
    failures: [
      [5, expect.stringMatching(/^MCP server \d+ not found or not accessible$/)],
      [16, "Authentication credentials were not provided."],
    ],
  });
  await page.context().close();
});
