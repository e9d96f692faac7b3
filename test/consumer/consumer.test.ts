import createClient, { type Client } from "openapi-fetch";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { paths } from "../../gen/openapi/patchbay.ts";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { freePort } from "../support/free-port.ts";
import { type Child, startChild } from "../support/child-process.ts";
import { type Service, startService } from "../support/service.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";
import { until } from "../support/until.ts";

/** The input of a consumer, equal for the mock and for the service. */
interface Server {
  readonly url: string;
  readonly token: string;
  readonly clientId: string;
  readonly clientSecret: string;
  /** The address of a reachable remote MCP server. */
  readonly upstreamUrl: string;
}

let mock: Child;
let database: TestDatabase;
let service: Service;
let accounts: TestAccounts;
let upstream: Upstream;
const servers = new Map<string, Server>();

beforeAll(async () => {
  const port = await freePort();
  const startMock = startChild({
    command: process.execPath,
    args: ["test/mock/main.ts", "--port", String(port)],
    ready: /^mock listening on /m,
  });
  [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
  mock = await startMock;
  const account = await accounts.create();
  const real = { url: service.url, token: await account.token(), upstreamUrl: upstream.url };
  servers.set("the service", { ...real, ...(await account.client("mgmt.read")) });
  servers.set("the mock", {
    ...{ url: `http://127.0.0.1:${port}`, token: "any", clientId: "any", clientSecret: "any" },
    upstreamUrl: "https://handbook.acme.example/mcp",
  });
}, 90_000);

afterAll(async () => {
  await mock?.end("SIGTERM");
  await service?.stop();
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

describe.each(["the mock", "the service"])("a consumer of %s", (name) => {
  let server: Server;
  let api: Client<paths>;
  let id: string;

  const as = (token: string | undefined): Client<paths> =>
    createClient<paths>({
      baseUrl: server.url,
      ...(token !== undefined && { headers: { authorization: `Bearer ${token}` } }),
    });

  beforeAll(() => {
    const found = servers.get(name);
    if (found === undefined) throw new Error(`${name} was not started`);
    server = found;
    api = as(server.token);
  });

  test("creates a connection", async () => {
    const body = {
      server_type: "mcp",
      name: "Acme Handbook",
      access_type: "individual" as const,
      configuration: { url: server.upstreamUrl },
    };
    const params = { header: { "Idempotency-Key": "acme-handbook" } };
    const { data, response } = await api.POST("/api/v1/mcp-servers", { params, body });
    expect(data).toMatchObject({ status: "active", server_type: "mcp", name: "Acme Handbook" });
    expect([response.status, response.headers.get("location")]).toEqual([201, expect.any(String)]);
    id = data?.server_id ?? "";
    expect((await api.POST("/api/v1/mcp-servers", { params, body })).data).toEqual(data);
  });

  test("sees the verified key and reads the connection in both views", async () => {
    const path = { server_id: id };
    const seen = await until(async () => {
      const { data } = await api.GET("/api/v1/mcp-servers/{server_id}", { params: { path } });
      const connection = data !== undefined && "data" in data ? data.data : undefined;
      return connection?.api_key_verification_status === "verified" && connection;
    });
    expect(seen).toMatchObject({ id: Number(id), mcp_server_name: "Acme Handbook", access_type: "individual" });
    const { data } = await api.GET("/api/v1/mcp-servers/{server_id}", {
      params: { path, query: { view: "detailed" } },
    });
    expect(data).toMatchObject({
      message: "MCP server retrieved",
      connection: { connection_id: id, name: "Acme Handbook", config: { url: server.upstreamUrl } },
    });
  });

  test("finds the connection in the list, in pages and in detail", async () => {
    const all = await api.GET("/api/v1/mcp-servers");
    expect(all.data?.data.map((each) => String(each.id))).toContain(id);
    const page = await api.GET("/api/v1/mcp-servers", { params: { query: { limit: 1 } } });
    expect(page.data).toMatchObject({ data: [expect.anything()], total_count: all.data?.data.length });
    const detailed = await api.GET("/api/v1/mcp-servers", { params: { query: { view: "detailed" } } });
    expect(detailed.data?.data.find((each) => String(each.id) === id)).toMatchObject({
      server_type: "mcp",
      status: "active",
    });
  });

  test("updates the connection in both views", async () => {
    const path = { server_id: id };
    const update = (
      body: paths["/api/v1/mcp-servers/{server_id}"]["put"]["requestBody"]["content"]["application/json"],
    ) => api.PUT("/api/v1/mcp-servers/{server_id}", { params: { path }, body });
    const plain = await update({ agent_enabled: true });
    expect(plain.data).toMatchObject({ success: true, data: { id: Number(id), agent_enabled: true } });
    const alternate = await update({ connection_id: id, name: "Acme Handbook" });
    expect(alternate.data).toMatchObject({ message: "MCP server updated", connection: { connection_id: id } });
  });

  test("updates the connection only if it is unchanged", async () => {
    const path = { server_id: id };
    const { response } = await api.GET("/api/v1/mcp-servers/{server_id}", { params: { path } });
    const etag = response.headers.get("etag") ?? "";
    expect(etag).toMatch(/^"[^"]+"$/);
    const params = { path, header: { "If-Match": etag } };
    const body = { description: "The public handbook." };
    const updated = await api.PUT("/api/v1/mcp-servers/{server_id}", { params, body });
    expect(updated.response.status).toBe(200);
  });

  test("lists its tools, all at once and by page", async () => {
    const path = { server_id: id };
    const tools = (query: { limit?: number; include_disabled?: boolean }) =>
      api.GET("/api/v1/mcp-servers/{server_id}/tools", { params: { path, query } });
    const all = await until(async () => {
      const { data } = await tools({});
      return data !== undefined && data.data.total_count > 0 && data.data;
    });
    expect(all.mcp_server_id).toBe(Number(id));
    expect(all.tools.every((tool) => tool.enabled && tool.inputSchema["type"] === "object")).toBe(true);
    expect((await tools({ limit: 1 })).data?.data).toMatchObject({ limit: 1, offset: 0, has_more: true });
    const { data } = await tools({ include_disabled: true });
    expect(data?.data.total_count).toBeGreaterThanOrEqual(all.total_count);
  });

  test("reads the catalog, the account's settings, calls and usage", async () => {
    const { data: catalog } = await api.GET("/api/v1/integrations");
    for (const { server_type } of catalog?.data.slice(0, 2) ?? []) {
      const { data } = await api.GET("/api/v1/integrations/{server_type}", { params: { path: { server_type } } });
      expect(data?.data.server_type).toBe(server_type);
    }
    expect((await api.GET("/api/v1/account/settings")).data).toEqual({ success: true, data: { tool_search: false } });
    const calls = await api.GET("/api/v1/calls", { params: { query: { server_id: id } } });
    expect(calls.data?.data.every((call) => String(call.mcp_server_id) === id)).toBe(true);
    expect((await api.GET("/api/v1/usage")).data?.success).toBe(true);
  });

  test("creates, finds, rotates and revokes a client", async () => {
    const scopes: "mgmt.read"[] = ["mgmt.read"];
    const body = { name: "Nightly report", scopes };
    const made = await api.POST("/api/v1/oauth-clients", { body });
    expect(made.data).toMatchObject({ data: { ...body, has_secret: true }, client_secret: expect.any(String) });
    const path = { client_id: made.data?.data.client_id ?? "" };
    const { data: listed } = await api.GET("/api/v1/oauth-clients");
    expect(listed?.data.map((each) => each.client_id)).toContain(path.client_id);
    const one = await api.GET("/api/v1/oauth-clients/{client_id}", { params: { path } });
    expect(one.data?.data).toEqual(made.data?.data);
    const rotated = await api.POST("/api/v1/oauth-clients/{client_id}/rotate-secret", { params: { path } });
    expect(rotated.data).toMatchObject({ data: { secret_rotated_at: expect.any(String) } });
    const revoked = await api.DELETE("/api/v1/oauth-clients/{client_id}", { params: { path } });
    expect(revoked.data).toEqual({ success: true, message: "OAuth client revoked" });
  });

  test("creates, finds, rotates and revokes a personal access token", async () => {
    const scopes: ("mcp.read" | "mcp.write")[] = ["mcp.read", "mcp.write"];
    const body = { name: "My laptop", scopes, expires_in_days: 90 };
    const made = await api.POST("/api/v1/personal-access-tokens", { body });
    expect(made.data).toMatchObject({ data: { name: body.name, scopes: body.scopes }, token: expect.any(String) });
    const path = { token_id: made.data?.data.id ?? "" };
    const { data: listed } = await api.GET("/api/v1/personal-access-tokens");
    expect(listed?.data.map((each) => each.id)).toContain(path.token_id);
    const one = await api.GET("/api/v1/personal-access-tokens/{token_id}", { params: { path } });
    expect(one.data?.data).toMatchObject(made.data?.data ?? {});
    const rotated = await api.POST("/api/v1/personal-access-tokens/{token_id}/rotate", { params: { path } });
    expect(rotated.data?.data.client_id).toBe(made.data?.data.client_id);
    const revoked = await api.DELETE("/api/v1/personal-access-tokens/{token_id}", { params: { path } });
    expect(revoked.data).toEqual({ success: true, message: "Personal access token revoked" });
  });

  test("gets a token with client id and secret", async () => {
    const { data } = await as(undefined).POST("/oauth2/token", {
      body: { grant_type: "client_credentials", scope: "mgmt.read" },
      bodySerializer: (body) => new URLSearchParams(Object.entries(body)),
      headers: {
        authorization: `Basic ${btoa(`${server.clientId}:${server.clientSecret}`)}`,
        "content-type": "application/x-www-form-urlencoded",
      },
    });
    expect(data).toMatchObject({ token_type: "Bearer", expires_in: 3600, scope: "mgmt.read" });
  });

  test("opens a session and lists its tools", async () => {
    const { data: session } = await api.POST("/mcp/initialize", { body: { protocolVersion: "2025-03-26" } });
    const header = { "X-Session-ID": session?.sessionId ?? "" };
    const { data } = await api.POST("/mcp/tools/list", { params: { header }, body: {} });
    expect(data?.tools.map((tool) => typeof tool.name)).toContain("string");
  });

  test("receives the service's error messages", async () => {
    const path = { server_id: id };
    const missing = await as(undefined).GET("/api/v1/mcp-servers");
    expect([missing.response.status, missing.error]).toEqual([
      401,
      expect.objectContaining({ detail: "Authentication credentials were not provided." }),
    ]);
    const post = (body: object) =>
      api.POST("/api/v1/mcp-servers", { body: body as { server_type: string } }).then(({ response, error }) => ({
        status: response.status,
        detail: error?.detail,
      }));
    expect(await post({ server_type: "mcp", color: "red" })).toEqual({
      status: 400,
      detail: "color is not a known field.",
    });
    expect(await post({ server_type: 7 })).toEqual({ status: 400, detail: expect.any(String) });
    expect(await post({})).toEqual({ status: 400, detail: expect.any(String) });
    const access = { access_type: "all" as "read" };
    const update = await api.PUT("/api/v1/mcp-servers/{server_id}", { params: { path }, body: access });
    expect([update.response.status, update.error?.detail]).toEqual([400, "Invalid access type specified"]);
    const query = { color: "red" } as { limit?: number };
    const unknown = await api.GET("/api/v1/mcp-servers", { params: { query } });
    expect(unknown.response.status).toBe(400);
    const nobody = { server_id: "2147483647" };
    for (const { response, error } of [
      await api.GET("/api/v1/mcp-servers/{server_id}", { params: { path: nobody } }),
      await api.PUT("/api/v1/mcp-servers/{server_id}", { params: { path: nobody }, body: { agent_enabled: true } }),
      await api.DELETE("/api/v1/mcp-servers/{server_id}", { params: { path: nobody } }),
    ]) {
      expect([response.status, error?.detail]).toEqual([404, expect.stringMatching(/^MCP server \d+ not found/)]);
    }
  });

  test("deletes the connection", async () => {
    const { data } = await api.DELETE("/api/v1/mcp-servers/{server_id}", { params: { path: { server_id: id } } });
    expect(data).toEqual({ success: true, data: null, message: "MCP server deleted" });
  });
});
