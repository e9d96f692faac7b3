import { afterEach, describe, expect, test } from "vitest";
import { servePublic } from "../../../src/transport/http/serve-routes.ts";
import { startStandIn, type Running } from "../support/stand-in.ts";
import { openSocket, readToEnd } from "../support/raw.ts";

const LIST = "/api/v1/mcp-servers";
const fail = (): void => undefined;
const RPC = "/patchbay.v1.ConnectionService/ListConnections";

let running: Running | undefined;

async function start(...options: Parameters<typeof startStandIn>): Promise<Running> {
  running = await startStandIn(...options);
  return running;
}

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

describe.each([true, false])("request gate with fast path %s", (fastPath) => {
  test.each([
    ["GET", LIST],
    ["POST", RPC],
  ])(
    "%s %s without a token returns 401 with a WWW-Authenticate challenge without an error code",
    async (method, path) => {
      const { url } = await start({ fastPath });
      const response = await fetch(url + path, {
        method,
        ...(method === "POST" && { body: "{}", headers: { "content-type": "application/json" } }),
      });
      expect(response.status).toBe(401);
      expect(response.headers.get("www-authenticate")).toBe('Bearer realm="patchbay"');
      expect(await response.text()).toContain("Authentication credentials were not provided.");
    },
  );

  test.each([
    ["GET", LIST],
    ["POST", RPC],
  ])("%s %s with an invalid token returns 401 with the error invalid_token", async (method, path) => {
    const { url } = await start({ fastPath });
    const response = await fetch(url + path, {
      method,
      headers: { authorization: "Bearer x", "content-type": "application/json" },
      ...(method === "POST" && { body: "{}" }),
    });
    expect(response.status).toBe(401);
    expect(response.headers.get("www-authenticate")).toBe('Bearer realm="patchbay", error="invalid_token"');
    expect(await response.text()).toContain("Invalid or expired token.");
  });

  test.each([
    ["GET", LIST],
    ["POST", RPC],
  ])("%s %s with a token without the scope returns 403 and names the scope", async (method, path) => {
    const { url } = await start({ fastPath });
    const response = await fetch(url + path, {
      method,
      headers: { authorization: "Bearer mgmt.write", "content-type": "application/json" },
      ...(method === "POST" && { body: "{}" }),
    });
    expect(response.status).toBe(403);
    expect(response.headers.get("www-authenticate")).toBe(
      'Bearer realm="patchbay", error="insufficient_scope", scope="mgmt.read"',
    );
    expect(await response.text()).toContain("You do not have permission to view connections.");
  });

  test.each([
    [LIST, "application/json"],
    [LIST, "text/plain"],
    ["/patchbay.v1.ConnectionService/CreateConnection", "application/json"],
    ["/patchbay.v1.ConnectionService/CreateConnection", "text/plain"],
    ["/patchbay.v1.ConnectionService/CreateConnection", "application/proto"],
  ])("POST %s with the content type %s is rejected before the body is read", async (path, type) => {
    const { port } = await start({ fastPath });
    const socket = await openSocket(port);
    const answer = new Promise<string>((resolve) =>
      socket.once("data", (chunk: Buffer) => {
        resolve(chunk.toString());
      }),
    );
    // The request declares a body and never sends it.
    socket.write(`POST ${path} HTTP/1.1\r\nhost: a\r\ncontent-type: ${type}\r\ncontent-length: 999999999\r\n\r\n`);
    expect(await answer).toMatch(/^HTTP\/1\.1 401 /);
    socket.destroy();
  });

  test("checks a request in the order route, token, scope, size, content type, body", async () => {
    const { url } = await start({ fastPath });
    const post = async (path: string, init: RequestInit) =>
      (await fetch(url + path, { method: "POST", body: "{", ...init })).status;
    const type = { "content-type": "text/plain" };
    expect(await post("/nowhere", { headers: type })).toBe(404);
    expect(await post(LIST, { method: "PUT", headers: type })).toBe(405);
    expect(await post(LIST, { headers: type })).toBe(401);
    expect(await post(LIST, { headers: { ...type, authorization: "Bearer mgmt.read" } })).toBe(403);
    const authorization = "Bearer mgmt.write";
    expect(await post(LIST, { headers: { ...type, authorization }, body: "x".repeat(2 ** 20 + 1) })).toBe(413);
    expect(await post(LIST, { headers: { ...type, authorization } })).toBe(415);
    expect(await post(LIST, { headers: { "content-type": "application/json", authorization } })).toBe(400);
  });

  test("returns 429 with Retry-After to an address with repeated authentication failures, and serves other addresses", async () => {
    const { url } = await start({
      fastPath,
      trustProxy: true,
      limits: { failures: { maxFailures: 3, windowSeconds: 60 } },
    });
    const from = (address: string, headers: Record<string, string> = {}) =>
      fetch(url + LIST, { headers: { "x-forwarded-for": `1.1.1.1, ${address}`, ...headers } });
    for (let count = 0; count < 5; count += 1) await from("2.2.2.2");
    const blocked = await from("2.2.2.2", { authorization: "Bearer mgmt.read" });
    expect(blocked.status).toBe(429);
    expect(Number(blocked.headers.get("retry-after"))).toBeGreaterThan(0);
    expect((await from("3.3.3.3", { authorization: "Bearer mgmt.read" })).status).toBe(200);
  });

  test("requests with valid tokens do not count as authentication failures", async () => {
    const { url } = await start({ fastPath, limits: { failures: { maxFailures: 3, windowSeconds: 60 } } });
    for (let count = 0; count < 20; count += 1) {
      expect((await fetch(url + LIST, { headers: { authorization: "Bearer mgmt.read" } })).status).toBe(200);
    }
  });
});

describe("public routes", () => {
  test("liveness needs no token, and readiness returns 503 until the service is ready", async () => {
    const { url } = await start({ isReady: () => false });
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const ready = await fetch(`${url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, '{"detail":"Not ready.","code":"UNAVAILABLE"}']);
  });

  test("passes the whole request target to additional routes", async () => {
    const { url } = await start({
      extraRoutes: [
        {
          path: "/oauth2/*",
          fail,
          methods: (exchange) => {
            exchange.respond(200, {}, `${exchange.method} ${exchange.target}`);
          },
        },
        {
          path: "/.well-known/jwks.json",
          fail,
          methods: {
            GET: (exchange) => {
              exchange.respond(200, {}, "keys");
            },
          },
        },
      ],
    });
    expect(await (await fetch(`${url}/oauth2/token?a=1`, { method: "POST", body: "x" })).text()).toBe(
      "POST /oauth2/token?a=1",
    );
    expect(await (await fetch(`${url}/.well-known/jwks.json`)).text()).toBe("keys");
    expect((await fetch(`${url}/oauth2`)).status).toBe(404);
    expect((await fetch(`${url}/.well-known/jwks.json/x`)).status).toBe(404);
  });

  test("returns 500 without details when a handler fails", async () => {
    const failed: unknown[] = [];
    const log = { error: (fields: object) => failed.push(fields), warn: () => undefined };
    const methods = { GET: () => Promise.reject(new Error("hunter2")) };
    const { url } = await start({ extraRoutes: servePublic([{ path: "/x", methods }], log) });
    const response = await fetch(`${url}/x?token=secret`);
    expect([response.status, await response.text()]).toEqual([500, '{"detail":"Internal error.","code":"INTERNAL"}']);
    expect(failed).toMatchObject([{ path: "/x" }]);
  });
});

describe("CORS", () => {
  const origin = "https://console.test";
  const preflight = { method: "OPTIONS", headers: { origin, "access-control-request-method": "PUT" } };

  test("sends no CORS headers unless origins are configured", async () => {
    const { url } = await start();
    const response = await fetch(`${url}${LIST}/7`, preflight);
    expect([response.status, response.headers.get("allow")]).toEqual([204, "GET, HEAD, PUT, DELETE, OPTIONS"]);
    expect([...response.headers.keys()].some((name) => name.startsWith("access-control"))).toBe(false);
  });

  test.each([`${LIST}/7`, RPC])("accepts a preflight request of a configured origin on %s", async (path) => {
    const { url } = await start({ corsOrigins: [origin] });
    const response = await fetch(url + path, preflight);
    expect(response.status).toBe(204);
    expect(response.headers.get("access-control-allow-origin")).toBe(origin);
    expect(response.headers.get("access-control-allow-methods")).toContain("PUT");
    const granted = response.headers.get("access-control-allow-headers")?.split(", ");
    expect(granted).toEqual(
      expect.arrayContaining(["Authorization", "Grpc-Timeout", "Idempotency-Key", "If-Match", "If-None-Match"]),
    );
    const answer = await fetch(url + path, { method: "HEAD", headers: { origin } });
    const readable = answer.headers.get("access-control-expose-headers")?.split(", ");
    expect(readable).toEqual(expect.arrayContaining(["ETag", "Location", "RateLimit", "Idempotency-Replayed"]));
  });

  test.each([true, false])(
    "sends CORS headers on responses and errors only to a configured origin (fast path %s)",
    async (fastPath) => {
      const { url } = await start({ corsOrigins: [origin], fastPath });
      for (const init of [{}, { method: "POST", body: "{}" }]) {
        const path = "body" in init ? RPC : LIST;
        const headers = { "content-type": "application/json", origin };
        expect((await fetch(url + path, { ...init, headers })).headers.get("access-control-allow-origin")).toBe(origin);
        const foreign = await fetch(url + path, { ...init, headers: { ...headers, origin: "https://evil.test" } });
        expect(foreign.headers.get("access-control-allow-origin")).toBeNull();
        expect(foreign.headers.get("vary")).toContain("Origin");
      }
    },
  );
});

test("returns 503 with Retry-After under overload, and recovers", async () => {
  const calls = { maxInFlight: 1, maxWaiting: 1, maxWaitMs: 30 };
  const { url, seen } = await start({ limits: { calls } });
  const headers = { authorization: "Bearer mgmt.read" };
  const caller = new AbortController();
  const slow = fetch(`${url}${LIST}/600`, { headers, signal: caller.signal }).catch(() => undefined);
  while (seen.signals.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  const surplus = await fetch(url + LIST, { headers });
  expect(surplus.status).toBe(503);
  expect(surplus.headers.get("retry-after")).toBe("1");
  caller.abort();
  await slow;
  while ((await fetch(url + LIST, { headers })).status !== 200) await new Promise((resolve) => setTimeout(resolve, 5));
});

test("returns 503 for a request that exceeds the time limit", async () => {
  const { url, seen, logged } = await start({ limits: { requestTimeMs: 200 } });
  const response = await fetch(`${url}${LIST}/600`, { headers: { authorization: "Bearer mgmt.read" } });
  expect([response.status, await response.text()]).toEqual([
    503,
    '{"detail":"The request took too long.","code":"DEADLINE_EXCEEDED"}',
  ]);
  expect(seen.signals[0]?.aborted).toBe(true);
  expect(logged).toEqual([]);
});

test("responds to a client that keeps sending a rejected upload", async () => {
  const { port } = await start();
  const socket = await openSocket(port);
  const answer = readToEnd(socket);
  socket.write(`POST ${LIST} HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n`);
  const chunk = `10000\r\n${"x".repeat(0x10000)}\r\n`;
  const timer = setInterval(() => {
    for (let count = 0; count < 32; count += 1) socket.write(chunk);
  }, 5);
  expect(await answer).toMatch(/^HTTP\/1\.1 401 /);
  clearInterval(timer);
});
