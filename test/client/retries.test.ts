import { afterEach, describe, expect, test } from "vitest";
import { createConnectClients } from "../../src/client/connect.ts";
import { createRestClient, type RestClient } from "../../src/client/rest.ts";
import { waitAfter } from "../../src/client/retry-policy.ts";
import { type ScriptedService, startScriptedService, type Step } from "./scripted-service.ts";

const retries = { attempts: 3, firstWaitMs: 1, longestWaitMs: 1_000 };
const DOWN: Step = { status: 503 };
const LIST: Step = { status: 200, body: { success: true, data: [] } };

let service: ScriptedService;
afterEach(() => service.close());

async function start(...steps: Step[]): Promise<RestClient> {
  service = await startScriptedService(steps);
  return createRestClient({ baseUrl: service.url, token: "t", retries });
}

describe("over REST", () => {
  test.each<[string, Step]>([
    ["503", DOWN],
    ["502", { status: 502 }],
    ["a cut connection", "cut"],
    ["a 429 with Retry-After", { status: 429, headers: { "retry-after": "0" } }],
  ])("repeats a read after %s", async (_, trouble) => {
    const client = await start(trouble, LIST);
    expect((await client.GET("/api/v1/mcp-servers")).data).toEqual({ success: true, data: [] });
    expect(service.asked).toHaveLength(2);
  });

  test("repeats an update with the same body", async () => {
    const client = await start(DOWN, { status: 200, body: { success: true } });
    const params = { path: { server_id: "7" } };
    await client.PUT("/api/v1/mcp-servers/{server_id}", { params, body: { agent_enabled: false } });
    expect(service.asked.map(({ body }) => body)).toEqual(['{"agent_enabled":false}', '{"agent_enabled":false}']);
  });

  test("repeats the creation of a connection with the same idempotency key, and uses a new key for the next creation", async () => {
    const client = await start("cut", DOWN, { status: 201, body: { server_id: "1" } });
    const { data } = await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    const keys = service.asked.map(({ headers }) => headers["idempotency-key"]);
    expect([data?.server_id, keys.length, new Set(keys.slice(0, 3)).size, new Set(keys).size]).toEqual(["1", 4, 1, 2]);
    expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
  });

  test("keeps the caller's idempotency key", async () => {
    const client = await start(DOWN, { status: 201, body: { server_id: "1" } });
    const params = { header: { "Idempotency-Key": "k" } };
    await client.POST("/api/v1/mcp-servers", { params, body: { server_type: "mcp" } });
    expect(service.asked.map(({ headers }) => headers["idempotency-key"])).toEqual(["k", "k"]);
  });

  test("does not repeat a create after a 429 without Retry-After", async () => {
    const client = await start({ status: 429 });
    await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    expect(service.asked).toHaveLength(1);
  });

  test.each<[string, Step]>([
    ["503", DOWN],
    ["a cut connection", "cut"],
  ])("does not repeat a create without idempotency after %s, since it may have been executed", async (_, trouble) => {
    const client = await start(trouble);
    const headers = { "Idempotency-Key": "k" };
    const body = { scopes: ["mcp.read" as const] };
    await client.POST("/api/v1/personal-access-tokens", { body, headers }).catch(() => undefined);
    expect(service.asked).toHaveLength(1);
  });

  test("repeats a create after the Retry-After time of a 429", async () => {
    const client = await start({ status: 429, headers: { "retry-after": "0" } }, { status: 201, body: {} });
    const { response } = await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    expect([response.status, service.asked.length]).toEqual([201, 2]);
  });

  test("returns the error to the caller after the last attempt", async () => {
    const client = await start({ status: 503, body: { detail: "Later." } });
    const { error, response } = await client.GET("/api/v1/mcp-servers");
    expect([error?.detail, response.status, service.asked.length]).toEqual(["Later.", 503, 3]);
  });

  test("does not wait if Retry-After exceeds the maximum wait", async () => {
    const client = await start({ status: 503, headers: { "retry-after": "3600" } });
    expect((await client.GET("/api/v1/mcp-servers")).response.status).toBe(503);
    expect(service.asked).toHaveLength(1);
  });

  test("ends the wait when the caller aborts", async () => {
    service = await startScriptedService([{ status: 503, headers: { "retry-after": "600" } }]);
    const patient = { attempts: 2, firstWaitMs: 1, longestWaitMs: 3_600_000 };
    const client = createRestClient({ baseUrl: service.url, token: "t", retries: patient });
    const controller = new AbortController();
    const call = client.GET("/api/v1/mcp-servers", { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(call).rejects.toThrow(/abort/);
  });

  test.each([400, 403, 404, 500])("does not repeat a call after %d", async (status) => {
    const client = await start({ status, body: { detail: "No." } });
    expect((await client.GET("/api/v1/mcp-servers")).error?.detail).toBe("No.");
    expect(service.asked).toHaveLength(1);
  });
});

describe("over Connect", () => {
  const UNAVAILABLE: Step = { status: 503, body: { code: "unavailable", message: "Later." } };
  const connect = async (...steps: Step[]) => {
    service = await startScriptedService(steps);
    return createConnectClients({ baseUrl: service.url, token: "t", retries });
  };

  test("repeats a read", async () => {
    const { connections } = await connect(UNAVAILABLE, LIST);
    expect((await connections.listConnections({})).success).toBe(true);
    expect(service.asked).toHaveLength(2);
  });

  test("repeats the creation of a connection with the same idempotency key, the caller's if there is one", async () => {
    const { connections } = await connect(UNAVAILABLE, { status: 200, body: { server_id: "1" } });
    expect((await connections.createConnection({ serverType: "mcp" })).serverId).toBe("1");
    await connections.createConnection({ serverType: "mcp" }, { headers: { "idempotency-key": "k" } });
    const [first, second, third] = service.asked.map(({ headers }) => headers["idempotency-key"]);
    expect([first, second, third]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), first, "k"]);
  });

  test("does not repeat a create that does not support idempotency keys", async () => {
    const { personalAccessTokens } = await connect(UNAVAILABLE);
    const headers = { "idempotency-key": "k" };
    await expect(personalAccessTokens.createPersonalAccessToken({}, { headers })).rejects.toThrow("Later.");
    expect(service.asked).toHaveLength(1);
  });
});

describe("waits", () => {
  const policy = { attempts: 5, firstWaitMs: 100, longestWaitMs: 300 };

  test("double with 50% jitter up to a maximum", async () => {
    service = await startScriptedService([]);
    for (const [attempt, full] of [100, 200, 300, 300].entries())
      for (let turn = 0; turn < 50; turn++) {
        const wait = waitAfter(policy, attempt + 1, null);
        expect(wait).toBeGreaterThanOrEqual(full / 2);
        expect(wait).toBeLessThanOrEqual(full);
      }
    expect(waitAfter(policy, 5, null)).toBeUndefined();
  });
});
