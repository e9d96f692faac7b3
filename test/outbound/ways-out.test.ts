import type { LookupAddress } from "node:dns";
import { once } from "node:events";
import { createServer } from "node:http";
import { type AddressInfo, type LookupFunction, Socket } from "node:net";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import type { Integration } from "../../src/integrations/integration.ts";
import type { Target } from "../../src/integrations/target.ts";
import { createMcpIntegration } from "../../src/integrations/mcp/mcp-integration.ts";
import type { CallResult } from "../../src/integrations/tool.ts";
import type { JsonObject } from "../../src/json.ts";
import { checkDestination } from "../../src/outbound/check-destination.ts";
import { createGuardedDispatcher } from "../../src/outbound/guarded-dispatcher.ts";
import { createSendWebhook } from "../../src/outbound/send-webhook.ts";
import type { SendWebhook } from "../../src/webhooks/deliver-due.ts";
import { randomWebhookSecret, signWebhook } from "../../src/webhooks/sign-webhook.ts";
import { createWorld, documentOf, type World } from "../integrations/openapi-document/support.ts";
import { FORBIDDEN, REBINDING } from "./forbidden.ts";

/** A feature in which a caller chooses the destination. */
interface Way {
  readonly name: string;
  /** Stores the URL if a configuration contains it; throws the rejection. */
  readonly store?: (url: string) => void;
  /** Tries to reach the URL and returns the error text. */
  readonly use: (url: string) => Promise<string>;
}

let world: World;
let mcp: Integration & { close(): void };
let sendWebhook: SendWebhook;
let permitted: { readonly origin: string; readonly port: number; leadsTo: string; close(): void };
/** The lookup result of every name. */
let addresses: readonly string[] = [];
let allow: string[];
/** Connection attempts, excluding the database and the allowed server. */
let attempts: () => readonly string[];

beforeAll(async () => {
  const server = createServer((_request, response) => {
    response.writeHead(307, { location: permitted.leadsTo }).end();
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  permitted = { origin: `http://127.0.0.1:${port}`, port, leadsTo: "", close: () => server.close() };
  allow = [`127.0.0.1:${port}`];
  const lookup: LookupFunction = (_name, options, callback) => {
    const found: LookupAddress[] = addresses.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    const [first] = found;
    if (first === undefined) callback(Object.assign(new Error("no such name"), { code: "ENOTFOUND" }), "", 0);
    else if (options.all === true) callback(null, found);
    else callback(null, first.address, first.family);
  };
  const dispatcher = createGuardedDispatcher({ allow, lookup });
  sendWebhook = createSendWebhook(dispatcher);
  const check = (url: string): string | undefined => checkDestination(url, allow);
  world = await createWorld({ dispatcher, checkDestination: check });
  mcp = createMcpIntegration({ dispatcher, checkDestination: check, log: pino({ level: "silent" }) });
});
afterAll(async () => {
  mcp?.close();
  permitted?.close();
  await world?.close();
});
beforeEach(() => {
  attempts = watchAttempts([permitted.port, databasePort()]);
});
afterEach(() => {
  vi.restoreAllMocks();
});

const never = new AbortController().signal;
let connectionId = 0;

function targetOf(configuration: JsonObject): Target {
  connectionId += 1;
  return { accountId: "1", connectionId, keyVersion: 1, configuration };
}

/** Returns the text of a failure, or a marker for a success. */
async function heard(attempt: () => Promise<CallResult | object> | object | undefined): Promise<string> {
  try {
    const outcome = await attempt();
    return JSON.stringify(outcome ?? "it was accepted");
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

const work = {
  name: "work",
  description: "",
  inputSchema: { type: "object" },
  annotations: { audience: [], requiresAuth: false },
  readOnly: true,
};

const mcpAt = (url: string) => heard(() => mcp.callTool(targetOf({ url }), work, {}, { signal: never }));
const documentAt = (url: string) =>
  heard(() => world.integration.listTools(targetOf({ spec_url: url }), { signal: never }));
const callDocument = (document: JsonObject, more: JsonObject = {}, tool = "list_things") =>
  heard(() => world.call({ spec: JSON.stringify(document), ...more }, tool));

/** Every tested URL. One document contains an operation for each, so it is read once. */
const URLS = [
  ...FORBIDDEN.flatMap(([, host]) => [`https://${host}/`, `http://${host}/`]),
  ...REBINDING.map((_, index) => `https://rebind-${String(index)}.example/`),
];
const toolFor = (url: string): string => `to_${String(URLS.indexOf(url))}`;

function documentFor(pathOf: (url: string) => JsonObject, more: JsonObject = {}): JsonObject {
  const responses = { "200": { description: "ok" } };
  const paths = URLS.map((url) => {
    const { operation = {}, ...path } = pathOf(url);
    return [`/${toolFor(url)}`, { ...path, get: { operationId: toolFor(url), responses, ...Object(operation) } }];
  });
  return documentOf({ ...more, paths: Object.fromEntries(paths) as JsonObject });
}

const BY_SERVERS = documentFor((url) => ({ servers: [{ url }] }));
const BY_VARIABLES = documentFor((url) => {
  const [scheme = "", host = ""] = url.split("://");
  return { servers: [{ url: `${scheme}://{host}/`, variables: { host: { default: host.replace("/", "") } } }] };
});
const oauth2 = (tokenUrl: string): JsonObject => ({
  type: "oauth2",
  flows: { clientCredentials: { tokenUrl, scopes: {} } },
});
const BY_TOKEN_URLS = documentFor((url) => ({ operation: { security: [{ [toolFor(url)]: [] }] } }), {
  servers: [{ url: "https://api.example/" }],
  components: { securitySchemes: Object.fromEntries(URLS.map((url) => [toolFor(url), oauth2(url)])) },
});
/** An integration whose own address and token address are the allowed server. */
const own = (): JsonObject =>
  documentOf({
    servers: [{ url: permitted.origin }],
    security: [{ app: [] }],
    components: { securitySchemes: { app: oauth2(`${permitted.origin}/token`) } },
  });
const AS_CLIENT = { client_id: "me", api_token: "secret-of-the-client" };

const WAYS: readonly Way[] = [
  {
    name: "the url of a webhook",
    use: (url) =>
      heard(() =>
        sendWebhook(
          { url, headers: signWebhook([randomWebhookSecret()], "delivery_1", "{}", new Date()), body: "{}" },
          never,
        ),
      ),
  },
  { name: "the url of an MCP server", store: (url) => mcp.checkConfiguration?.({ url }), use: mcpAt },
  {
    name: "the spec_url of a document",
    store: (url) => world.integration.checkConfiguration?.({ spec_url: url }),
    use: documentAt,
  },
  {
    name: "the base_url of a document",
    store: (url) => world.integration.checkConfiguration?.({ spec: "{}", base_url: url }),
    use: (url) => callDocument(documentOf(), { base_url: url }),
  },
  { name: "a document's servers", use: (url) => callDocument(BY_SERVERS, {}, toolFor(url)) },
  { name: "a variable in a document's servers", use: (url) => callDocument(BY_VARIABLES, {}, toolFor(url)) },
  {
    name: "a token URL that a document names",
    use: (url) => callDocument(BY_TOKEN_URLS, AS_CLIENT, toolFor(url)),
  },
  {
    name: "the token_url of a document",
    store: (url) => world.integration.checkConfiguration?.({ spec: "{}", client_id: "me", token_url: url }),
    use: (url) => callDocument(own(), { ...AS_CLIENT, token_url: url }),
  },
];

function led(name: string, ask: () => Promise<string>): Way {
  return {
    name,
    use: (url) => {
      // Headers carry bytes; the decoding of characters beyond ASCII does not matter here.
      permitted.leadsTo = Buffer.from(url).toString("latin1");
      return ask();
    },
  };
}

const REDIRECTS: readonly Way[] = [
  led("an MCP server", () => mcpAt(`${permitted.origin}/mcp`)),
  led("the site of a document", () => documentAt(`${permitted.origin}/openapi-${String((connectionId += 1))}.json`)),
  led("an API", () => callDocument(own())),
  led("a token endpoint", () => callDocument(own(), AS_CLIENT)),
];

describe.each(WAYS)("no connection is opened through $name", ({ store, use }) => {
  test.each(FORBIDDEN)("to %s (%s)", async (_form, host, reason) => {
    for (const scheme of ["https", "http"]) {
      const url = `${scheme}://${host}/`;
      expect(() => store?.(url)).toSatisfy(store === undefined ? returns : throws);
      expect(await use(url)).toMatch(reason);
    }
    expect(attempts()).toEqual([]);
  });

  test.each(
    REBINDING.map(([form, leadsTo], index) => [form, leadsTo, `https://rebind-${String(index)}.example/`] as const),
  )("to a name that leads to %s", async (_form, leadsTo, url) => {
    addresses = leadsTo;
    const said = await use(url);
    expect(said).toMatch(/its name leads to/);
    for (const address of leadsTo) expect(said).not.toContain(address);
    expect(attempts()).toEqual([]);
  });
});

describe.each(REDIRECTS)("no connection is opened by a redirect of $name", ({ use }) => {
  test.each(FORBIDDEN)("to %s (%s)", async (_form, host) => {
    for (const scheme of ["https", "http"]) expect(await use(`${scheme}://${host}/`)).toMatch(/redirect|answered 307/);
    expect(attempts()).toEqual([]);
  });
});

test("detects a connection that is opened", async () => {
  vi.restoreAllMocks();
  attempts = watchAttempts([databasePort()]);
  await mcpAt(`${permitted.origin}/mcp`);
  await heard(() => fetch(permitted.origin, { redirect: "manual" }));
  expect(new Set(attempts())).toEqual(new Set([`127.0.0.1:${String(permitted.port)}`]));
});

function databasePort(): number {
  return Number(new URL(world.database.pool.options.connectionString ?? "").port);
}

/** Records every attempt at the socket. */
function watchAttempts(ownPorts: readonly number[]): () => readonly string[] {
  const seen: string[] = [];
  const emit: (this: Socket, ...args: unknown[]) => boolean = Reflect.get(Socket.prototype, "emit");
  vi.spyOn(Socket.prototype, "emit").mockImplementation(function (this: Socket, ...args: unknown[]) {
    const [event, address, port] = args;
    if (event === "connectionAttempt" && !ownPorts.includes(Number(port)))
      seen.push(`${String(address)}:${String(port)}`);
    return emit.apply(this, args);
  });
  return () => seen;
}

function throws(run: () => void): boolean {
  try {
    run();
    return false;
  } catch {
    return true;
  }
}

function returns(run: () => void): boolean {
  return !throws(run);
}
