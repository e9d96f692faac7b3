import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type EverythingServer, startEverythingServer } from "../integrations/mcp/everything-server.ts";
import { type CodeClient, redeem } from "../transport/oauth/code-flow.ts";
import { createProtocolClient, createProtocolClients } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createFormBrowser } from "../support/form-browser.ts";
import { type Decider, grantAccess } from "../support/grant-access.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { attempt } from "../transport/oauth/code-flow.ts";

const REDIRECT = "http://127.0.0.1:33418/callback";

let everything: EverythingServer;
let database: TestDatabase;
let service: Service;
let owner: Owner;
let person: Decider;
let client: CodeClient;
/** Two connections of the person, and one of another account. */
let [first, second, foreign] = ["", "", ""];

beforeAll(async () => {
  [everything, database] = await Promise.all([startEverythingServer(), createTestDatabase()]);
  service = await startService({
    databaseUrl: database.url,
    env: { OUTBOUND_ALLOW: new URL(everything.url).host },
  });
  const [ours, other] = [await newPerson("person@example.com"), await newPerson("other@example.com")];
  [person, owner] = [ours.person, ours.owner];
  const wanted = { server_type: "mcp", configuration: { url: everything.url } };
  [first, second, foreign] = [await owner.create(wanted), await owner.create(wanted), await other.owner.create(wanted)];
  for (const id of [first, second]) await owner.waitFor(id, "verified");
  const answer = await fetch(`${service.url}/oauth2/register`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ redirect_uris: [REDIRECT], token_endpoint_auth_method: "none" }),
  });
  const { client_id: clientId } = (await answer.json()) as { client_id: string };
  client = { clientId, clientSecret: undefined, redirectUri: REDIRECT };
}, 90_000);

afterAll(async () => {
  await service?.stop();
  await everything?.stop();
  await database?.close();
});

async function newPerson(email: string): Promise<{ person: Decider; owner: Owner }> {
  const made = await service.command("account", "create", "--email", email);
  const pat = await service.command("pat", "create", "--account", email, "--scope", "mgmt.read mgmt.write mcp.write");
  return {
    person: { email, password: String(made["password"]) },
    owner: createOwner(createProtocolClient("rest", service.url), String(pat["token"])),
  };
}

const ALL_SCOPES = "mgmt.read mgmt.write mcp.read mcp.write";

/** Returns an access token that the person granted for a resource of the service, on selected connections. */
async function tokenFor(
  path: string | undefined,
  connections?: readonly string[],
  scope = ALL_SCOPES,
): Promise<string> {
  const asked = attempt(client, { scope, resource: path === undefined ? undefined : service.url + path });
  const decider = connections === undefined ? person : { ...person, connections };
  const back = await grantAccess(createFormBrowser(service.url), new URL(asked.path, service.url), decider);
  const code = back.searchParams.get("code") ?? "";
  const { body } = await redeem({ issuer: service.url }, client, { code, verifier: asked.verifier });
  return String(body["access_token"]);
}

async function statusOf(method: string, path: string, token: string, body?: object): Promise<number> {
  const response = await fetch(service.url + path, {
    method,
    headers: {
      ...{ authorization: `Bearer ${token}`, accept: "application/json, text/event-stream" },
      ...(body !== undefined && { "content-type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  await response.arrayBuffer();
  return response.status;
}

const INITIALIZE = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "n", version: "1" } };
const RPC = { jsonrpc: "2.0", id: 1, method: "initialize", params: INITIALIZE };

describe("the audience of a token (DESIGN §6) limits where it is accepted, regardless of its scopes:", () => {
  /**
   * The status of each resource's token at: management, the REST runtime, /mcp, its connection's address, another
   * connection's address.
   */
  const EXPECTED: readonly (readonly [string, () => string | undefined, readonly number[]])[] = [
    ["nothing in particular", () => undefined, [200, 200, 200, 200, 200]],
    ["the service", () => "", [200, 200, 200, 200, 200]],
    ["the runtime", () => "/mcp", [401, 200, 200, 200, 200]],
    ["one connection", () => `/mcp/${first}`, [401, 401, 401, 200, 401]],
  ];
  test.each(EXPECTED)("a token for %s", async (_title, path, expected) => {
    const token = await tokenFor(path());
    const statuses = [
      await statusOf("GET", "/api/v1/mcp-servers", token),
      await statusOf("POST", "/mcp/initialize", token, INITIALIZE),
      await statusOf("POST", "/mcp", token, RPC),
      await statusOf("POST", `/mcp/${first}`, token, RPC),
      await statusOf("POST", `/mcp/${second}`, token, RPC),
    ];
    expect(statuses).toEqual(expected);
    const [management] = expected;
    for (const api of createProtocolClients(service.url)) {
      const { message } = await api.call("ListConnections", { token });
      expect([api.name, message]).toEqual([api.name, management === 200 ? "" : "Invalid or expired token."]);
    }
  });
});

describe("a grant for selected connections", () => {
  let token: string;
  beforeAll(async () => {
    token = await tokenFor(undefined, [second]);
  });

  test("lists only those, over every protocol", async () => {
    for (const api of createProtocolClients(service.url)) {
      const outcome = await api.call("ListConnections", { token });
      const { data } = Object(outcome.body) as { data: { id: number }[] };
      expect([api.name, data.map(({ id }) => String(id))]).toEqual([api.name, [second]]);
    }
    const page = await createProtocolClient("rest", service.url).call("ListConnections", {
      token,
      input: { limit: 1, offset: 0 },
    });
    expect(page.body).toMatchObject({ total_count: 1, has_more: false });
  });

  test("returns 404 for other connections when they are read, changed, deleted or listed by id", async () => {
    for (const api of createProtocolClients(service.url)) {
      for (const operation of ["GetConnection", "UpdateConnection", "DeleteConnection", "ListConnectionTools"]) {
        const change = operation === "UpdateConnection" ? { name: "Renamed" } : {};
        const theirs = await api.call(operation, { token, input: { server_id: first, ...change } });
        const missing = await api.call(operation, { token, input: { server_id: foreign, ...change } });
        expect([operation, theirs.message.replace(first, "…")]).toEqual([
          operation,
          missing.message.replace(foreign, "…"),
        ]);
        expect(theirs.message).toMatch(/not found/);
      }
      const own = await api.call("GetConnection", { token, input: { server_id: second } });
      expect([api.name, own.message]).toEqual([api.name, ""]);
    }
  });

  test("rejects the creation of a connection", async () => {
    const input = { server_type: "mcp", configuration: { url: everything.url } };
    for (const api of createProtocolClients(service.url)) {
      const { message } = await api.call("CreateConnection", { token, input });
      expect([api.name, message]).toEqual([api.name, "You do not have permission to create connections."]);
    }
  });

  test("lists only their tools in the runtime, by bare names, and rejects calls to others", async () => {
    for (const api of createProtocolClients(service.url)) {
      const opened = await api.call("Initialize", { token, input: INITIALIZE });
      const headers = { "x-session-id": String((Object(opened.body) as Record<string, unknown>)["sessionId"]) };
      const listed = await api.call("ListTools", { token, headers });
      const { tools } = Object(listed.body) as { tools: { name: string }[] };
      expect(tools.map(({ name }) => name)).toContain("echo");
      const input = { name: `echo__${first}`, arguments: { message: "hello" } };
      const called = await api.call("CallTool", { token, headers, input });
      expect([api.name, called.message === ""]).toEqual([api.name, false]);
    }
    expect(await statusOf("POST", `/mcp/${first}`, token, RPC)).toBe(404);
    expect(await statusOf("POST", `/mcp/${second}`, token, RPC)).toBe(200);
  });

  test("lists only its own calls in the history", async () => {
    const everywhere = await tokenFor(undefined);
    const api = createProtocolClient("rest", service.url);
    for (const id of [first, second]) {
      const opened = await api.call("Initialize", { token: everywhere, input: INITIALIZE });
      const headers = { "x-session-id": String((Object(opened.body) as Record<string, unknown>)["sessionId"]) };
      await api.call("CallTool", {
        token: everywhere,
        headers,
        input: { name: `echo__${id}`, arguments: { message: "hello" } },
      });
    }
    const idsOf = async (by: string): Promise<Set<string>> => {
      const { body } = await api.call("ListCalls", { token: by });
      const { data } = Object(body) as { data: { mcp_server_id: number }[] };
      return new Set(data.map(({ mcp_server_id: id }) => String(id)));
    };
    await expect.poll(async () => (await idsOf(everywhere)).size, { timeout: 10_000 }).toBe(2);
    expect(await idsOf(token)).toEqual(new Set([second]));
  });

  test("sends only their changes to watches", async () => {
    const controller = new AbortController();
    const response = await fetch(`${service.url}/api/v1/mcp-servers/events`, {
      headers: { authorization: `Bearer ${token}`, accept: "text/event-stream" },
      signal: controller.signal,
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    const decoder = new TextDecoder();
    let seen = "";
    const readUntil = async (word: string): Promise<void> => {
      while (!seen.includes(word)) {
        const { value, done } = await reader.read();
        if (done) throw new Error(`the stream ended after ${seen}`);
        seen += decoder.decode(value);
      }
    };
    await readUntil("snapshot");
    await owner.call("UpdateConnection", { server_id: first, name: "renamed, out of reach" });
    await owner.call("UpdateConnection", { server_id: second, name: "renamed, within reach" });
    await readUntil("renamed, within reach");
    expect(seen).not.toContain("out of reach");
    expect(seen).not.toContain(`"id":${first},`);
    controller.abort();
  });
});

test("a client under a grant cannot create or change credentials, which would outlive the grant", async () => {
  const token = await tokenFor(undefined);
  const secret = { oauth2_client_secret: "a-secret-that-a-client-would-like-to-keep" };
  const { body } = await createProtocolClient("rest", service.url).call("CreateOAuthClient", {
    token: owner.token,
    input: { scopes: ["mcp.write"] },
  });
  const own = Object(body) as { data: { client_id: string } };
  const hook = { url: "https://hooks.invalid/", event_types: ["connection.created"] };
  const created = await createProtocolClient("rest", service.url).call("CreateWebhook", {
    token: owner.token,
    input: hook,
  });
  const hooked = Object(created.body) as { data: { id: string } };
  const tries = [
    await statusOf("POST", "/api/v1/personal-access-tokens", token, { name: "kept", scopes: ["mcp.write"] }),
    await statusOf("POST", "/api/v1/oauth-clients", token, { name: "kept", scopes: ["mcp.write"] }),
    await statusOf("POST", `/api/v1/oauth-clients/${own.data.client_id}/rotate-secret`, token, {}),
    await statusOf("PUT", `/api/v1/mcp-servers/${first}`, token, secret),
    await statusOf("POST", "/api/v1/webhooks", token, hook),
    await statusOf("PUT", `/api/v1/webhooks/${hooked.data.id}`, token, { url: "https://hooks.invalid/other" }),
    await statusOf("POST", `/api/v1/webhooks/${hooked.data.id}/rotate-secret`, token, {}),
  ];
  expect(tries).toEqual([403, 403, 403, 403, 403, 403, 403]);
});

test("a token that can only read tools cannot use the management API", async () => {
  const token = await tokenFor(undefined, undefined, "mcp.read");
  expect(await statusOf("GET", "/api/v1/mcp-servers", token)).toBe(403);
  expect(await statusOf("POST", "/mcp", token, RPC)).toBe(200);
});
