import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createWire } from "../../support/mcp-wire.ts";
import { createMcpWorld, type McpWorld } from "./world.ts";

let world: McpWorld;
beforeAll(async () => {
  world = await createMcpWorld({ CORS_ORIGINS: "https://app.example.com" });
}, 90_000);
afterAll(() => world?.close());

const PING = { jsonrpc: "2.0", id: 1, method: "ping" };

describe("requests without a valid token", () => {
  test.each([
    ["/mcp", "/mcp"],
    ["/mcp/7", "/mcp/7"],
  ])("%s returns the URL of its protected resource metadata", async (path, resource) => {
    const answer = await createWire(world.service.url, undefined, path).send({ body: PING });
    expect(answer.status).toBe(401);
    const metadataUrl = `${world.service.url}/.well-known/oauth-protected-resource${resource}`;
    expect(answer.headers["www-authenticate"]).toContain(`resource_metadata="${metadataUrl}"`);
    expect(answer.headers["www-authenticate"]).toContain('scope="mcp.read mcp.write"');
    expect(answer.last).toEqual({ jsonrpc: "2.0", error: { code: -32000, message: expect.any(String) } });
    const metadata = (await (await fetch(metadataUrl)).json()) as unknown;
    expect(metadata).toMatchObject({
      resource: world.service.url + resource,
      authorization_servers: [world.service.url],
      scopes_supported: ["mcp.read", "mcp.write"],
      bearer_methods_supported: ["header"],
    });
  });

  test("an invalid token returns the error invalid_token", async () => {
    const answer = await world.wire("/mcp", "nonsense").send({ body: PING });
    expect([answer.status, answer.headers["www-authenticate"]]).toEqual([
      401,
      expect.stringContaining('error="invalid_token"'),
    ]);
  });
});

test("serves the metadata of the service only at the well-known path without a suffix", async () => {
  const base = `${world.service.url}/.well-known/oauth-protected-resource`;
  expect(await (await fetch(base)).json()).toMatchObject({ resource: world.service.url });
  expect((await fetch(`${base}/api`)).status).toBe(404);
  expect((await fetch(`${base}/mcp/abc`)).status).toBe(404);
  expect((await fetch(base, { method: "POST" })).status).toBe(405);
});

test("a token without a suitable scope returns an error with the required scopes", async () => {
  const token = await world.accounts.forge(world.account, { scopes: [] });
  const answer = await world.wire("/mcp", token).send({ body: PING });
  expect([answer.status, answer.headers["www-authenticate"]]).toEqual([
    403,
    expect.stringMatching(/error="insufficient_scope", scope="mcp\.read mcp\.write"/),
  ]);
});

test.each([
  ["", "/mcp", 400],
  ["", "/mcp/{id}", 400],
  ["/mcp", "/mcp", 400],
  ["/mcp", "/mcp/{id}", 400],
  ["/mcp/{id}", "/mcp/{id}", 400],
  ["/mcp/{id}", "/mcp", 401],
  ["/mcp/99", "/mcp/{id}", 401],
  ["/elsewhere", "/mcp", 401],
  ["", "/sse", 405],
  ["/mcp", "/sse", 405],
  ["/sse", "/sse", 405],
  ["/sse/{id}", "/sse/{id}", 405],
  ["/mcp/{id}", "/sse/{id}", 405],
  ["/sse/{id}", "/sse", 401],
  ["/sse", "/mcp", 401],
])('a token for the audience "%s" at %s returns %i', async (audience, path, status) => {
  const here = (text: string): string => text.replace("{id}", world.id);
  const token = await world.accounts.forge(world.account, { aud: world.service.url + here(audience) });
  // 400 and 405 mean that the token is valid and the session ID is missing.
  expect((await world.wire(here(path), token).send({ body: PING })).status).toBe(status);
});

test("a bound token can access only the connection that it is bound to", async () => {
  const bound = await world.account.token("mcp.read", Number(world.id));
  const { headers } = await world.wire(`/mcp/${world.id}`, bound).call("initialize", { protocolVersion: "2025-11-25" });
  expect(headers["mcp-session-id"]).toBeDefined();
  const other = await world.owner.create({ server_type: "mcp", configuration: { url: world.upstream.url } });
  expect((await world.wire(`/mcp/${other}`, bound).call("ping")).status).toBe(404);
});

test("a connection of another account returns the same error as a connection that does not exist", async () => {
  const stranger = await (await world.accounts.create()).token();
  const theirs = await world.wire(`/mcp/${world.id}`, stranger).call("ping");
  const missing = await world.wire("/mcp/999999", stranger).call("ping");
  expect([theirs.status, missing.status]).toEqual([404, 404]);
});

describe("protection against DNS rebinding", () => {
  const initialize = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "n", version: "v" } },
  };
  test.each([
    [{ origin: "https://evil.example.com" }, 403],
    [{ origin: "null" }, 403],
    [{ host: "evil.example.com" }, 403],
    [{ host: "evil.example.com:8080", origin: "https://app.example.com" }, 403],
    [{ host: "localhost:1234" }, 200],
    [{ host: "[::1]:1234" }, 200],
    [{ origin: "https://app.example.com" }, 200],
    [{}, 200],
  ])("responds to the headers %j with %i", async (headers, status) => {
    expect((await world.wire().send({ headers, body: initialize })).status).toBe(status);
  });

  test("accepts the origin of the service", async () => {
    const headers = { origin: world.service.url };
    expect((await world.wire().send({ headers, body: initialize })).status).toBe(200);
  });

  test("rejects a foreign origin before it checks the token, for every method", async () => {
    const headers = { origin: "https://evil.example.com", authorization: undefined };
    for (const method of ["POST", "GET", "DELETE"]) {
      expect((await world.wire().send({ method, headers })).status).toBe(403);
    }
  });
});

test("a configured CORS origin can send the MCP headers and read the session ID", async () => {
  const preflight = await world.wire().send({
    method: "OPTIONS",
    headers: {
      origin: "https://app.example.com",
      "access-control-request-method": "POST",
      "access-control-request-headers": "mcp-session-id, mcp-param-region, x-other",
    },
  });
  expect(preflight.status).toBe(204);
  expect(preflight.headers["access-control-allow-headers"]).toMatch(/Mcp-Session-Id.*Mcp-Method.*mcp-param-region/);
  expect(preflight.headers["access-control-allow-headers"]).not.toContain("x-other");
});
