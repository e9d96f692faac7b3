import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { Agent, type Dispatcher } from "undici";
import { createDocumentConverter } from "../../../src/integrations/openapi-document/converter.ts";
import { createDocuments, type Documents } from "../../../src/integrations/openapi-document/documents.ts";
import { createOpenApiDocumentIntegration } from "../../../src/integrations/openapi-document/openapi-document-integration.ts";
import type { DocumentStore } from "../../../src/integrations/openapi-document/document-store.ts";
import type { Integration } from "../../../src/integrations/integration.ts";
import type { Target } from "../../../src/integrations/target.ts";
import type { CallResult } from "../../../src/integrations/tool.ts";
import type { JsonObject } from "../../../src/json.ts";
import { type Database, openDatabase } from "../../../src/storage/database.ts";
import { createDocumentStore } from "../../../src/storage/stores/integrations/openapi-document.ts";
import { createTestDatabase } from "../../support/database.ts";

/** A request that the site received. */
export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingMessage["headers"];
}

/** A site that serves a document at /openapi.json and an API at all other paths. */
export interface Site {
  readonly url: string;
  /** The document; the site returns 500 while it is undefined. */
  document: JsonObject | string | undefined;
  /** The answer of the API. */
  status: number;
  readonly requests: SeenRequest[];
  close(): Promise<void>;
}

/** A document with one read operation and one write operation. */
export function documentOf(more: JsonObject = {}, paths: JsonObject = {}): JsonObject {
  return {
    openapi: "3.0.3",
    info: { title: "Acme", version: "1" },
    servers: [{ url: "/v1" }],
    paths: {
      "/things": {
        get: { operationId: "list_things", summary: "List things", responses: { "200": { description: "ok" } } },
        post: {
          operationId: "add_thing",
          requestBody: {
            content: { "application/json": { schema: { type: "object", properties: { name: { type: "string" } } } } },
          },
          responses: { "200": { description: "ok" } },
        },
      },
      ...paths,
    },
    ...more,
  };
}

/** Starts a site. */
export async function startSite(): Promise<Site> {
  const server = createServer((request, response) => answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const site: Site = {
    url: `http://127.0.0.1:${String(port)}`,
    document: documentOf(),
    status: 200,
    requests: [],
    async close() {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
  function answer(request: IncomingMessage, response: ServerResponse): void {
    const { method = "", url = "", headers } = request;
    site.requests.push({ method, url, headers });
    request.resume();
    if (url.split("?", 1)[0] !== "/openapi.json") {
      response.writeHead(site.status, { "content-type": "application/json" }).end(JSON.stringify({ url }));
      return;
    }
    if (site.document === undefined) {
      response.writeHead(500).end();
      return;
    }
    const text = typeof site.document === "string" ? site.document : JSON.stringify(site.document);
    const etag = `"${text.length}"`;
    if (headers["if-none-match"] === etag) response.writeHead(304).end();
    else response.writeHead(200, { "content-type": "application/json", etag }).end(text);
  }
  return site;
}

/** The integration on a separate database. */
export interface World {
  readonly database: Database;
  readonly store: DocumentStore;
  readonly documents: Documents;
  readonly integration: Integration;
  readonly warnings: object[];
  target(configuration: JsonObject, connectionId?: number): Target;
  call(configuration: JsonObject, tool: string, args?: JsonObject): Promise<CallResult>;
  close(): Promise<void>;
}

/** For calls that are never aborted. */
export const options = { signal: new AbortController().signal };

/** Creates the integration, by default with a dispatcher without restrictions. */
export async function createWorld(
  wayOut: {
    readonly dispatcher: Dispatcher;
    readonly checkDestination: (url: string) => string | undefined;
  } = { dispatcher: new Agent(), checkDestination: () => undefined },
): Promise<World> {
  const testDatabase = await createTestDatabase();
  const database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  const { dispatcher, checkDestination } = wayOut;
  const store = createDocumentStore(database.orm);
  const warnings: object[] = [];
  const log = { info: () => undefined, warn: (fields: object) => void warnings.push(fields) };
  const documents = createDocuments({ store, dispatcher, converter: createDocumentConverter(), log });
  const integration = createOpenApiDocumentIntegration({
    documents,
    changes: store,
    dispatcher,
    checkDestination,
  });
  const target = (configuration: JsonObject, connectionId = 1): Target => ({
    accountId: "a",
    connectionId,
    keyVersion: 1,
    configuration,
  });
  return {
    database,
    store,
    documents,
    integration,
    warnings,
    target,
    async call(configuration, name, args = {}) {
      const tools = await integration.listTools(target(configuration), options);
      const tool = tools.find((each) => each.name === name);
      if (tool === undefined) throw new Error(`no tool ${name}`);
      return integration.callTool(target(configuration), tool, args, options);
    },
    async close() {
      await dispatcher.destroy();
      await database.close();
      await testDatabase.close();
    },
  };
}
