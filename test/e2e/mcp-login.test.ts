import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import {
  Client as ModernClient,
  ClientCredentialsProvider as ModernCredentials,
  type OAuthClientProvider as ModernProvider,
  StreamableHTTPClientTransport as ModernTransport,
  UnauthorizedError as ModernUnauthorized,
} from "@modelcontextprotocol/client";
import { UnauthorizedError } from "@modelcontextprotocol/sdk/client/auth.js";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import { type EverythingServer, startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createFormBrowser } from "../support/form-browser.ts";
import { type Decider, grantAccess } from "../support/grant-access.ts";
import { startMcpRemote } from "../support/mcp-remote.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { createSelfSigned, type SelfSigned } from "../support/self-signed.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";
const METADATA = {
  client_name: "An agent's host",
  redirect_uris: [REDIRECT],
  grant_types: ["authorization_code", "refresh_token"],
  response_types: ["code"],
  token_endpoint_auth_method: "none",
};

let everything: EverythingServer;
let database: TestDatabase;
let certificate: SelfSigned;
let documents: Server;
let documentAddress: string;
let service: Service;
let accounts: TestAccounts;
let owner: Owner;
let person: Decider & { readonly accountId: string };
let ids: readonly string[];

beforeAll(async () => {
  [everything, database] = await Promise.all([startEverythingServer(), createTestDatabase()]);
  certificate = createSelfSigned();
  documents = createServer(certificate, (_request, response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify({ client_id: documentAddress, ...METADATA }));
  });
  await new Promise<void>((resolve) => documents.listen(0, "127.0.0.1", resolve));
  const { port } = documents.address() as AddressInfo;
  documentAddress = `https://localhost:${port}/oauth/client.json`;
  service = await startService({
    databaseUrl: database.url,
    env: {
      OUTBOUND_ALLOW: `${new URL(everything.url).host},localhost:${port}`,
      NODE_EXTRA_CA_CERTS: certificate.certFile,
    },
  });
  accounts = await openAccounts(service.env);
  const made = await service.command("account", "create", "--email", "person@example.com");
  const [accountId, email, password] = [made["account_id"], made["email"], made["password"]].map(String);
  person = { accountId: accountId ?? "", email: email ?? "", password: password ?? "" };
  const pat = await service.command("pat", "create", "--account", person.email, "--scope", "mgmt.read mgmt.write");
  owner = createOwner(createProtocolClient("rest", service.url), String(pat["token"]));
  ids = await Promise.all(
    [0, 1].map(() => owner.create({ server_type: "mcp", configuration: { url: everything.url } })),
  );
  for (const id of ids) await owner.waitFor(id, "verified");
}, 90_000);

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await everything?.stop();
  await database?.close();
  documents?.close();
  certificate?.remove();
});

/** The state that an agent's host keeps during the login, for both SDKs. */
interface Host {
  readonly provider: ModernProvider;
  /** The last address that the browser was sent to. */
  address(): URL;
  tokens(): { readonly access_token: string; readonly refresh_token?: string | undefined } | undefined;
}

function createHost(clientMetadataUrl?: string): Host {
  let [client, tokens, discovered, verifier]: [unknown, unknown, unknown, string] = [
    undefined,
    undefined,
    undefined,
    "",
  ];
  let address: URL | undefined;
  const provider = {
    redirectUrl: REDIRECT,
    clientMetadata: METADATA,
    ...(clientMetadataUrl !== undefined && { clientMetadataUrl }),
    state: () => "state of the host",
    clientInformation: () => client,
    saveClientInformation: (saved: unknown) => (client = saved),
    tokens: () => tokens,
    saveTokens: (saved: unknown) => (tokens = saved),
    redirectToAuthorization: (to: URL) => (address = to),
    saveCodeVerifier: (saved: string) => (verifier = saved),
    codeVerifier: () => verifier,
    saveDiscoveryState: (saved: unknown) => (discovered = saved),
    discoveryState: () => discovered,
  } as unknown as Host["provider"];
  return {
    provider,
    address: () => {
      if (address === undefined) throw new Error("the browser was not redirected");
      return address;
    },
    tokens: () => tokens as ReturnType<Host["tokens"]>,
  };
}

interface Session {
  toolNames(): Promise<readonly string[]>;
  echo(name: string): Promise<unknown>;
  close(): Promise<void>;
}

/** How each SDK handles `/mcp` without a token, and the authorization code. */
const SDKS = {
  "the SDK's client, v1": {
    async logIn(url: URL, host: Host, decider: Decider) {
      const transport = new StreamableHTTPClientTransport(url, { authProvider: host.provider as never });
      await expect(new Client({ name: "host", version: "1" }).connect(transport)).rejects.toThrow(UnauthorizedError);
      const back = await grantAccess(createFormBrowser(service.url), host.address(), decider);
      await transport.finishAuth(back.searchParams.get("code") ?? "");
      return back;
    },
    async connect(url: URL, authProvider: unknown): Promise<Session> {
      const client = new Client({ name: "host", version: "1" });
      await client.connect(new StreamableHTTPClientTransport(url, { authProvider: authProvider as never }));
      return toSession(client as never);
    },
    credentials: (clientId: string, clientSecret: string): unknown =>
      new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer: service.url }),
  },
  "the SDK's client, v2": {
    async logIn(url: URL, host: Host, decider: Decider) {
      const transport = new ModernTransport(url, { authProvider: host.provider });
      const client = new ModernClient({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
      await expect(client.connect(transport)).rejects.toThrow(ModernUnauthorized);
      const back = await grantAccess(createFormBrowser(service.url), host.address(), decider);
      await transport.finishAuth(back.searchParams);
      return back;
    },
    async connect(url: URL, authProvider: unknown): Promise<Session> {
      const client = new ModernClient({ name: "host", version: "1" }, { versionNegotiation: { mode: "auto" } });
      await client.connect(new ModernTransport(url, { authProvider: authProvider as never }));
      return toSession(client as never);
    },
    credentials: (clientId: string, clientSecret: string): unknown =>
      new ModernCredentials({ clientId, clientSecret, expectedIssuer: service.url }),
  },
} as const;

function toSession(client: {
  listTools(): Promise<{ tools: { name: string }[] }>;
  callTool(call: { name: string; arguments: object }): Promise<unknown>;
  close(): Promise<void>;
}): Session {
  return {
    toolNames: async () => (await client.listTools()).tools.map(({ name }) => name),
    echo: (name) => client.callTool({ name, arguments: { message: "hello" } }),
    close: () => client.close(),
  };
}

describe.each(Object.entries(SDKS))("%s, given only the address of /mcp,", (_name, sdk) => {
  const WAYS = { "its own document": true, "dynamic registration": false } as const;
  test.each(Object.entries(WAYS))("logs in by %s, uses all tools and refreshes its token", async (_way, byDocument) => {
    const url = new URL(`${service.url}/mcp`);
    const host = createHost(byDocument ? documentAddress : undefined);
    const back = await sdk.logIn(url, host, person);
    expect(back.searchParams.get("iss")).toBe(service.url);
    expect(back.searchParams.get("state")).toBe("state of the host");
    expect(host.address().searchParams.get("resource")).toBe(`${service.url}/mcp`);
    const session = await sdk.connect(url, host.provider);
    expect(await session.toolNames()).toEqual(expect.arrayContaining(["mcp_server__echo", "mcp_server_2__echo"]));
    expect(await session.echo(`echo__${ids[0]}`)).toMatchObject({ content: [{ text: "Echo: hello" }] });
    await session.close();

    const before = host.tokens();
    if (before === undefined) throw new Error("the host has no tokens");
    // After an invalid token the SDK refreshes by itself.
    await host.provider.saveTokens({ ...before, access_token: `${before.access_token.slice(0, -8)}AAAAAAAA` } as never);
    const again = await sdk.connect(url, host.provider);
    expect((await again.toolNames()).length).toBeGreaterThan(0);
    expect(host.tokens()?.refresh_token).not.toBe(before.refresh_token);
    await again.close();
  });

  test("gets only the tools of the selected connections", async () => {
    const host = createHost();
    const url = new URL(`${service.url}/mcp`);
    const chosen = ids.slice(1);
    await sdk.logIn(url, host, { ...person, connections: chosen });
    const session = await sdk.connect(url, host.provider);
    const names = await session.toolNames();
    expect(names).toContain("echo");
    expect(names.filter((name) => name.includes("__"))).toEqual([]);
    await session.close();
  });

  test("logs in with client credentials, without a person", async () => {
    const made = await service.command("client", "create", "--account", person.email, "--scope", "mcp.read mcp.write");
    const provider = sdk.credentials(String(made["client_id"]), String(made["client_secret"]));
    const session = await sdk.connect(new URL(`${service.url}/mcp`), provider);
    expect(await session.toolNames()).toEqual(expect.arrayContaining(["mcp_server__echo", "mcp_server_2__echo"]));
    await session.close();
  });

  test("logs in to one connection at its own address", async () => {
    const host = createHost();
    const url = new URL(`${service.url}/mcp/${ids[0]}`);
    await sdk.logIn(url, host, person);
    expect(host.address().searchParams.get("resource")).toBe(url.href);
    const session = await sdk.connect(url, host.provider);
    expect(await session.toolNames()).toContain("echo");
    await session.close();
  });
});

test.each([
  ["/mcp", []],
  ["/sse", []],
  ["/sse", ["--transport", "sse-only"]],
])(
  "mcp-remote, given only the address of %s and %j, registers itself, logs in and uses all tools",
  async (path, args) => {
    const remote = await startMcpRemote(new URL(service.url + path), args, person);
    const { tools } = await remote.client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(expect.arrayContaining(["mcp_server__echo", "mcp_server_2__echo"]));
    const called = await remote.client.callTool({ name: `echo__${ids[0]}`, arguments: { message: "hello" } });
    expect(called).toMatchObject({ content: [{ text: "Echo: hello" }] });
    await remote.close();
  },
);

test("revoking a grant ends its sessions and invalidates its tokens", async () => {
  const host = createHost();
  const url = new URL(`${service.url}/mcp`);
  await SDKS["the SDK's client, v1"].logIn(url, host, person);
  const session = await SDKS["the SDK's client, v1"].connect(url, host.provider);
  const token = host.tokens()?.access_token ?? "";
  const { grant_id: grantId } = JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8")) as {
    grant_id: string;
  };
  const sessionsOf = () => accounts.query("select id from session where grant_id = $1", [grantId]);
  expect(await sessionsOf()).toHaveLength(1);
  await accounts.grants.revoke(person.accountId, grantId, OPERATOR);
  await until(async () => {
    const answer = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${token}` } });
    return answer.status === 401;
  });
  expect(await sessionsOf()).toEqual([]);
  await session.close().catch(() => undefined);
});
