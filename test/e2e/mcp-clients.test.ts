import { createRequire } from "node:module";
import { Client as ModernClient, StreamableHTTPClientTransport as ModernTransport } from "@modelcontextprotocol/client";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EverythingServer, startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { openAccounts, type TestAccount, type TestAccounts } from "../support/accounts.ts";
import { runChild } from "../support/child-process.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner } from "../support/owner.ts";
import { type Prism, startPrismMock } from "../support/prism.ts";
import { type Service, startService } from "../support/service.ts";

let everything: EverythingServer;
let prism: Prism;
let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
const paths = { everything: "", bamboohr: "" };
const tokens = { "personal access token": "", "client credentials": "" };

beforeAll(async () => {
  [everything, prism, database] = await Promise.all([
    startEverythingServer(),
    startPrismMock("openapi/integrations/bamboohr.yaml"),
    createTestDatabase(),
  ]);
  service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: new URL(everything.url).host, INTEGRATION_BASE_URLS: `bamboohr=${prism.url}` },
  });
  accounts = await openAccounts(service.env);
  const account = await accounts.create();
  tokens["personal access token"] = await account.token("mgmt.read mgmt.write");
  tokens["client credentials"] = await tokenByCredentials(account, "mcp.read mcp.write");
  const owner = createOwner(createProtocolClient("rest", service.url), tokens["personal access token"]);
  const ids = await Promise.all([
    owner.create({ server_type: "mcp", configuration: { url: everything.url } }),
    owner.create({ server_type: "bamboohr", configuration: { company_domain: "acme", api_token: "0123456789" } }),
  ]);
  for (const id of ids) await owner.waitFor(id, "verified");
  paths.everything = `/mcp/${ids[0]}`;
  paths.bamboohr = `/mcp/${ids[1]}`;
}, 90_000);

afterAll(async () => {
  await service?.stop();
  await accounts?.close();
  await everything?.stop();
  await prism?.stop();
  await database?.close();
});

async function tokenByCredentials(account: TestAccount, scope: string): Promise<string> {
  const { clientId, clientSecret } = await account.client(scope);
  const answer = await fetch(`${service.url}/oauth2/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${clientId}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials", scope, resource: `${service.url}/mcp` }),
  });
  return ((await answer.json()) as { access_token: string }).access_token;
}

interface Tools {
  names(): Promise<readonly string[]>;
  call(name: string, args: Record<string, unknown>): Promise<unknown>;
  close(): Promise<void>;
}

/** The clients, by protocol revision. */
const CLIENTS: Readonly<Record<string, (url: URL, token: string) => Promise<Tools>>> = {
  "the v1 SDK": async (url, token) => {
    const client = new Client({ name: "test", version: "1" });
    const requestInit = { headers: { authorization: `Bearer ${token}` } };
    const transport = new StreamableHTTPClientTransport(url, { requestInit });
    await client.connect(transport as Parameters<Client["connect"]>[0]);
    return {
      names: async () => (await client.listTools()).tools.map(({ name }) => name),
      call: (name, args) => client.callTool({ name, arguments: args }),
      close: () => client.close(),
    };
  },
  "the v2 SDK, legacy": (url, token) => connectModern(url, token, "legacy"),
  "the v2 SDK, auto": (url, token) => connectModern(url, token, "auto"),
  "the v2 SDK, modern": (url, token) => connectModern(url, token, { pin: "2026-07-28" }),
};

type Negotiation = NonNullable<ConstructorParameters<typeof ModernClient>[1]>["versionNegotiation"];

async function connectModern(
  url: URL,
  token: string,
  mode: NonNullable<NonNullable<Negotiation>["mode"]>,
): Promise<Tools> {
  const client = new ModernClient({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  await client.connect(new ModernTransport(url, { requestInit: { headers: { authorization: `Bearer ${token}` } } }));
  return {
    names: async () => (await client.listTools()).tools.map(({ name }) => name),
    call: (name, args) => client.callTool({ name, arguments: args }),
    close: () => client.close(),
  };
}

describe.each(Object.entries(CLIENTS))("%s", (_name, connect) => {
  describe.each(["personal access token", "client credentials"] as const)("with a %s", (kind) => {
    test("lists and calls the tools of an MCP server", async () => {
      const client = await connect(new URL(service.url + paths.everything), tokens[kind]);
      expect(await client.names()).toEqual(expect.arrayContaining(["echo", "get-sum"]));
      expect(await client.call("get-sum", { a: 2, b: 40 })).toMatchObject({
        content: [{ type: "text", text: expect.stringContaining("42") }],
      });
      await client.close();
    });

    test("lists and calls the tools of a catalog integration", async () => {
      const client = await connect(new URL(service.url + paths.bamboohr), tokens[kind]);
      const names = await client.names();
      expect(names.length).toBeGreaterThan(3);
      const result = await client.call("get_employee_directory", {});
      expect(result).toMatchObject({ content: [{ type: "text" }] });
      expect(result).not.toMatchObject({ isError: true });
      await client.close();
    });

    test("lists all connections at one address, with a unique name for each tool", async () => {
      const client = await connect(new URL(`${service.url}/mcp`), tokens[kind]);
      const names = await client.names();
      expect(names).toEqual(expect.arrayContaining(["echo", "get_employee_directory"]));
      expect(new Set(names).size).toBe(names.length);
      expect(names).toEqual([...names].sort());
      await client.close();
    });
  });
});

const INSPECTOR = createRequire(import.meta.url).resolve("@modelcontextprotocol/inspector/package.json");

async function inspect(revision: string, path: string, token: string, ...args: readonly string[]): Promise<unknown> {
  const { code, stdout, output } = await runChild({
    command: process.execPath,
    args: [
      INSPECTOR.replace("package.json", "clients/launcher/build/index.js"),
      ...["--cli", service.url + path, "--transport", "http", "--protocol-era", revision],
      ...["--header", `Authorization: Bearer ${token}`, ...args],
    ],
    env: { HOME: "/nonexistent" },
  });
  expect([code, output]).toEqual([0, expect.any(String)]);
  return JSON.parse(stdout);
}

describe.each(["legacy", "modern"])("the Inspector, %s", (revision) => {
  test("lists and calls the tools of an MCP server", async () => {
    const token = tokens["client credentials"];
    expect(await inspect(revision, paths.everything, token, "--method", "tools/list")).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "echo" })]),
    });
    const call = ["--method", "tools/call", "--tool-name", "echo", "--tool-arg", "message=hello"];
    expect(await inspect(revision, paths.everything, token, ...call)).toMatchObject({
      content: [{ type: "text", text: "Echo: hello" }],
    });
  });

  test("lists and calls the tools of a catalog integration", async () => {
    const token = tokens["personal access token"];
    expect(await inspect(revision, paths.bamboohr, token, "--method", "tools/list")).toMatchObject({
      tools: expect.arrayContaining([expect.objectContaining({ name: "get_employee_directory" })]),
    });
    const call = ["--method", "tools/call", "--tool-name", "get_employee_directory"];
    expect(await inspect(revision, paths.bamboohr, token, ...call)).toMatchObject({ content: [{ type: "text" }] });
  });
});
