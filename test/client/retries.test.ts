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
    ["a 429 that names a time", { status: 429, headers: { "retry-after": "0" } }],
  ])("a read is tried again after %s", async (_, trouble) => {
    const client = await start(trouble, LIST);
    expect((await client.GET("/api/v1/mcp-servers")).data).toEqual({ success: true, data: [] });
    expect(service.asked).toHaveLength(2);
  });

  test("an update is sent again with the same body", async () => {
    const client = await start(DOWN, { status: 200, body: { success: true } });
    const params = { path: { server_id: "7" } };
    await client.PUT("/api/v1/mcp-servers/{server_id}", { params, body: { agent_enabled: false } });
    expect(service.asked.map(({ body }) => body)).toEqual(['{"agent_enabled":false}', '{"agent_enabled":false}']);
  });

  test("a create of a connection is sent again under one key, and the next create under another", async () => {
    const client = await start("cut", DOWN, { status: 201, body: { server_id: "1" } });
    const { data } = await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    const keys = service.asked.map(({ headers }) => headers["idempotency-key"]);
    expect([data?.server_id, keys.length, new Set(keys.slice(0, 3)).size, new Set(keys).size]).toEqual(["1", 4, 1, 2]);
    expect(keys).toEqual(keys.map(() => expect.stringMatching(/^[0-9a-f]{32}$/)));
  });

  test("a create under the caller's own key keeps it", async () => {
    const client = await start(DOWN, { status: 201, body: { server_id: "1" } });
    const params = { header: { "Idempotency-Key": "k" } };
    await client.POST("/api/v1/mcp-servers", { params, body: { server_type: "mcp" } });
    expect(service.asked.map(({ headers }) => headers["idempotency-key"])).toEqual(["k", "k"]);
  });

  test("a create is not sent again after a 429 without a time", async () => {
    const client = await start({ status: 429 });
    await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    expect(service.asked).toHaveLength(1);
  });

  test.each<[string, Step]>([
    ["503", DOWN],
    ["a cut connection", "cut"],
  ])("what no key makes safe is not sent again after %s: it may have been carried out", async (_, trouble) => {
    const client = await start(trouble);
    const headers = { "Idempotency-Key": "k" };
    const body = { scopes: ["mcp.read" as const] };
    await client.POST("/api/v1/personal-access-tokens", { body, headers }).catch(() => undefined);
    expect(service.asked).toHaveLength(1);
  });

  test("a create that was refused for haste is sent again when its time has come", async () => {
    const client = await start({ status: 429, headers: { "retry-after": "0" } }, { status: 201, body: {} });
    const { response } = await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    expect([response.status, service.asked.length]).toEqual([201, 2]);
  });

  test("what stays broken is handed to the caller after the last attempt", async () => {
    const client = await start({ status: 503, body: { detail: "Later." } });
    const { error, response } = await client.GET("/api/v1/mcp-servers");
    expect([error?.detail, response.status, service.asked.length]).toEqual(["Later.", 503, 3]);
  });

  test("a service that asks for a longer wait than agreed is not waited for", async () => {
    const client = await start({ status: 503, headers: { "retry-after": "3600" } });
    expect((await client.GET("/api/v1/mcp-servers")).response.status).toBe(503);
    expect(service.asked).toHaveLength(1);
  });

  test("an abort ends the wait", async () => {
    service = await startScriptedService([{ status: 503, headers: { "retry-after": "600" } }]);
    const patient = { attempts: 2, firstWaitMs: 1, longestWaitMs: 3_600_000 };
    const client = createRestClient({ baseUrl: service.url, token: "t", retries: patient });
    const controller = new AbortController();
    const call = client.GET("/api/v1/mcp-servers", { signal: controller.signal });
    setTimeout(() => controller.abort(), 50);
    await expect(call).rejects.toThrow(/abort/);
  });

  test.each([400, 403, 404, 500])("a %d is an answer, not a trouble", async (status) => {
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

  test("a read is tried again", async () => {
    const { connections } = await connect(UNAVAILABLE, LIST);
    expect((await connections.listConnections({})).success).toBe(true);
    expect(service.asked).toHaveLength(2);
  });

  test("a create of a connection is tried again under one key, its caller's own where there is one", async () => {
    const { connections } = await connect(UNAVAILABLE, { status: 200, body: { server_id: "1" } });
    expect((await connections.createConnection({ serverType: "mcp" })).serverId).toBe("1");
    await connections.createConnection({ serverType: "mcp" }, { headers: { "idempotency-key": "k" } });
    const [first, second, third] = service.asked.map(({ headers }) => headers["idempotency-key"]);
    expect([first, second, third]).toEqual([expect.stringMatching(/^[0-9a-f]{32}$/), first, "k"]);
  });

  test("what no key makes safe is not", async () => {
    const { personalAccessTokens } = await connect(UNAVAILABLE);
    const headers = { "idempotency-key": "k" };
    await expect(personalAccessTokens.createPersonalAccessToken({}, { headers })).rejects.toThrow("Later.");
    expect(service.asked).toHaveLength(1);
  });
});

describe("waits", () => {
  const policy = { attempts: 5, firstWaitMs: 100, longestWaitMs: 300 };

  test("double, are half chance, and have an upper bound", async () => {
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
