import { afterEach, describe, expect, test } from "vitest";
import { createClientCredentials, createRestClient, TokenError, type TokenSource } from "../../src/client/rest.ts";
import { createConnectClients } from "../../src/client/connect.ts";
import { until } from "../support/until.ts";
import { type ScriptedService, startScriptedService, type Step } from "./scripted-service.ts";

const retries = { attempts: 3, firstWaitMs: 1, longestWaitMs: 1_000 };
const LIST: Step = { status: 200, body: { success: true, data: [] } };
const REFUSED: Step = { status: 401, body: { detail: "Invalid or expired token.", code: "unauthenticated" } };

let service: ScriptedService;
afterEach(() => service.close());

let nowMs = 0;
function source(): TokenSource {
  nowMs = 0;
  return createClientCredentials({
    ...{ baseUrl: service.url, clientId: "a client", clientSecret: "se:cret", scope: "mgmt.read mcp.read", retries },
    now: () => nowMs,
  });
}

describe("a token", () => {
  test("is requested with Basic credentials and the scopes as a form parameter", async () => {
    service = await startScriptedService([]);
    await source().token();
    const [request] = service.tokenRequests;
    expect(request?.authorization).toBe(`Basic ${btoa("a%20client:se%3Acret")}`);
    expect(request?.body).toBe("grant_type=client_credentials&scope=mgmt.read+mcp.read");
  });

  test("is requested once for concurrent callers and cached", async () => {
    service = await startScriptedService([]);
    const tokens = source();
    const got = await Promise.all(Array.from({ length: 50 }, () => tokens.token()));
    expect(new Set([...got, await tokens.token()])).toEqual(new Set(["token-1"]));
    expect(service.tokenRequests).toHaveLength(1);
  });

  test("is renewed before it expires while the previous token stays in use", async () => {
    service = await startScriptedService([]);
    const tokens = source();
    await tokens.token();
    nowMs = 3_539_000;
    expect(await tokens.token()).toBe("token-1");
    expect(service.tokenRequests).toHaveLength(1);
    nowMs = 3_541_000;
    expect(await tokens.token()).toBe("token-1");
    await until(async () => (await tokens.token()) === "token-2", { what: "the renewed token" });
    expect(service.tokenRequests).toHaveLength(2);
  });

  test("is used until it expires if its renewal fails", async () => {
    const refusal: Step = { status: 400, body: { error: "invalid_scope" } };
    const good = (count: number): Step => ({ status: 200, body: { access_token: `token-${count}`, expires_in: 100 } });
    service = await startScriptedService([], (count) => (count === 1 ? good(1) : refusal));
    const tokens = source();
    await tokens.token();
    nowMs = 90_000;
    expect(await tokens.token()).toBe("token-1");
    await until(async () => service.tokenRequests.length === 2);
    expect(await tokens.token()).toBe("token-1");
    nowMs = 100_000;
    await expect(tokens.token()).rejects.toThrow(TokenError);
  });

  test("is not requested again after a rejection, whose error is thrown", async () => {
    const body = { error: "invalid_client", error_description: "Unknown client." };
    service = await startScriptedService([], () => ({ status: 401, body }));
    await expect(source().token()).rejects.toMatchObject({
      code: "invalid_client",
      message: "Unknown client.",
      status: 401,
    });
    expect(service.tokenRequests).toHaveLength(1);
  });

  test("is requested again after a lost response, and by the next caller after a failure", async () => {
    service = await startScriptedService([], (count) =>
      count <= 4 ? "cut" : { status: 200, body: { access_token: "late", expires_in: 60 } },
    );
    const tokens = source();
    await expect(tokens.token()).rejects.toThrow();
    expect(service.tokenRequests).toHaveLength(3);
    expect(await tokens.token()).toBe("late");
  });
});

describe("a 401", () => {
  test("repeats the call once with a new token, even a create", async () => {
    service = await startScriptedService([REFUSED, { status: 201, body: { server_id: "1" } }]);
    const client = createRestClient({ baseUrl: service.url, token: source() });
    const { data } = await client.POST("/api/v1/mcp-servers", { body: { server_type: "mcp" } });
    expect(data?.server_id).toBe("1");
    expect(service.asked.map(({ authorization }) => authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
    expect(service.asked[1]?.body).toBe('{"server_type":"mcp"}');
  });

  test("with the second token is returned to the caller", async () => {
    service = await startScriptedService([REFUSED]);
    const client = createRestClient({ baseUrl: service.url, token: source() });
    expect((await client.GET("/api/v1/mcp-servers")).error?.detail).toBe("Invalid or expired token.");
    expect(service.asked).toHaveLength(2);
  });

  test("of concurrent calls requests one new token", async () => {
    service = await startScriptedService(({ authorization }) => (authorization === "Bearer token-1" ? REFUSED : LIST));
    const client = createRestClient({ baseUrl: service.url, token: source() });
    const answers = await Promise.all(Array.from({ length: 10 }, () => client.GET("/api/v1/mcp-servers")));
    expect(answers.every(({ response }) => response.ok)).toBe(true);
    expect(service.tokenRequests).toHaveLength(2);
  });

  test("with a personal access token is returned to the caller", async () => {
    service = await startScriptedService([REFUSED]);
    const client = createRestClient({ baseUrl: service.url, token: "pat" });
    expect((await client.GET("/api/v1/mcp-servers")).response.status).toBe(401);
    expect(service.asked).toHaveLength(1);
  });

  test("over Connect repeats the call once with a new token", async () => {
    const refused: Step = { status: 401, body: { code: "unauthenticated", message: "Invalid or expired token." } };
    service = await startScriptedService([refused, { status: 200, body: { server_id: "1" } }]);
    const { connections } = createConnectClients({ baseUrl: service.url, token: source() });
    expect((await connections.createConnection({ serverType: "mcp" })).serverId).toBe("1");
    expect(service.asked.map(({ authorization }) => authorization)).toEqual(["Bearer token-1", "Bearer token-2"]);
  });
});
