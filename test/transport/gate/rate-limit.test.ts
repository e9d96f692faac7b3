import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { readConfig } from "../../../src/config.ts";
import { createRateLimit } from "../../../src/transport/gate/rate-limit.ts";
import { RATE_LIMITS, type RateLimits } from "../../../src/transport/gate/rates.ts";
import { createFailWithDetail } from "../../../src/transport/http/answer.ts";
import type { RouteHandler } from "../../../src/transport/http/router.ts";
import { createFailAsOAuth } from "../../../src/transport/oauth/oauth-error.ts";
import { type Running, startStandIn, verify } from "../support/stand-in.ts";

const LIST = "/api/v1/mcp-servers";
const RPC = "/patchbay.v1.ConnectionService/ListConnections";
const TOKEN = "/oauth2/token";

const log = { error: () => {}, warn: () => {} };
const served: RouteHandler = (exchange) => {
  exchange.respond(200, {}, "served");
};

let running: Running | undefined;

afterEach(async () => {
  await running?.stop();
  running = undefined;
});

/** Starts a service in which each token belongs to a separate account. */
async function start(rates: Partial<RateLimits>, fastPath = true): Promise<Running> {
  running = await startStandIn({
    fastPath,
    trustProxy: true,
    limits: { rates: { ...RATE_LIMITS, ...rates } },
    verifier: {
      verify: (authorization, audiences) => ({
        ...verify(authorization, audiences),
        accountId: authorization ?? "",
      }),
    },
    extraRoutes: [
      { path: "/oauth2/*", methods: served, limit: "token", fail: createFailAsOAuth(log) },
      { path: "/login", methods: served, limit: "address", fail: createFailWithDetail(log) },
    ],
  });
  return running;
}

function list(url: string, token = "mgmt.read", path = LIST): Promise<Response> {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  return fetch(url + path, path === LIST ? { headers } : { method: "POST", headers, body: "{}" });
}

const from = (url: string, address: string, init: RequestInit = {}): Promise<Response> =>
  fetch(url, { ...init, headers: { "x-forwarded-for": address } });

describe("rate limit quota", () => {
  const quota = { requests: 60, windowSeconds: 60 };

  test("grants the whole quota at first and then refills it evenly", () => {
    let now = 0;
    const limit = createRateLimit("a", quota, () => now);
    const taken = Array.from({ length: 60 }, () => limit?.take("k"));
    expect([taken[0], taken.at(-1)]).toEqual([59, 0]);
    expect(limit?.take("k")).toBeLessThan(0);
    now += 999;
    expect(limit?.take("k")).toBeLessThan(0);
    now += 1;
    expect(limit?.take("k")).toBe(0);
    now += 3_600_000;
    expect(limit?.take("k")).toBe(59);
  });

  test("never admits more requests than the quota, and rejected requests do not use the quota", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 300 }), (pauses) => {
        let now = 0;
        let admitted = 0;
        const limit = createRateLimit("a", { requests: 10, windowSeconds: 10 }, () => now);
        for (const pause of pauses) {
          now += pause;
          const left = limit?.take("k") ?? 0;
          if (left >= 0) admitted += 1;
          else {
            // One request is admitted per second, so Retry-After is 1, or 2 after rounding up.
            const wait = limit?.retryAfterSeconds(left) ?? 0;
            expect(wait).toBeGreaterThanOrEqual(1);
            expect(wait).toBeLessThanOrEqual(2);
          }
        }
        expect(admitted).toBeLessThanOrEqual(10 + now / 1_000);
        expect(admitted).toBeGreaterThanOrEqual(Math.min(pauses.length, 10));
      }),
    );
  });

  test("counts each key separately", () => {
    const limit = createRateLimit("a", { requests: 1, windowSeconds: 60 }, () => 0);
    expect([limit?.take("one"), limit?.take("other")]).toEqual([0, 0]);
    expect(limit?.take("one")).toBeLessThan(0);
  });

  test("tracks a bounded number of keys", () => {
    const limit = createRateLimit("a", { requests: 1, windowSeconds: 60 }, () => 0);
    limit?.take("first");
    for (let count = 0; count < 50_000; count += 1) limit?.take(String(count));
    // The limiter evicted the key, so the key has its whole quota again: bounded memory takes priority over accuracy.
    expect(limit?.take("first")).toBe(0);
    expect(limit?.take("49999")).toBeLessThan(0);
  });

  test("a quota of 0 disables the limit", () => {
    expect(createRateLimit("a", { requests: 0, windowSeconds: 60 })).toBeUndefined();
  });
});

describe.each([true, false])("rate limit of authenticated requests with fast path %s", (fastPath) => {
  test.each([LIST, RPC])("responses of %s report the remaining quota", async (path) => {
    const { url } = await start({ account: 100 }, fastPath);
    const first = await list(url, "mgmt.read", path);
    expect(first.status).toBe(200);
    expect(first.headers.get("ratelimit-policy")).toBe('"account";q=100;w=60');
    expect(first.headers.get("ratelimit")).toMatch(/^"account";r=99;t=1$/);
    expect((await list(url, "mgmt.read", path)).headers.get("ratelimit")).toMatch(/^"account";r=98;t=[12]$/);
  });

  test.each([LIST, RPC])(
    "requests to %s over the quota return 429 with Retry-After, while other accounts are served",
    async (path) => {
      const { url, seen } = await start({ account: 2 }, fastPath);
      for (let count = 0; count < 2; count += 1) expect((await list(url, "mgmt.read", path)).status).toBe(200);
      const refused = await list(url, "mgmt.read", path);
      expect(refused.status).toBe(429);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThanOrEqual(1);
      expect(Number(refused.headers.get("retry-after"))).toBeLessThanOrEqual(30);
      expect(refused.headers.get("ratelimit")).toMatch(/^"account";r=0;t=\d+$/);
      expect(await refused.text()).toContain("Too many requests. Try again later.");
      expect((await list(url, "mgmt.read,mgmt.write", path)).status).toBe(200);
      expect(seen.requests).toHaveLength(3);
    },
  );

  test("requests rejected for their token or scope do not use the quota", async () => {
    const { url } = await start({ account: 1 }, fastPath);
    expect((await list(url, "nothing")).status).toBe(401);
    expect((await list(url, "mgmt.write")).status).toBe(403);
    expect((await list(url)).status).toBe(200);
  });

  test("responses contain no rate limit headers when the limit is disabled", async () => {
    const { url } = await start({ account: 0 }, fastPath);
    const answer = await list(url);
    expect([...answer.headers.keys()].filter((name) => name.includes("ratelimit"))).toEqual([]);
  });
});

describe("rate limit of requests without a token", () => {
  test("counts requests by client address", async () => {
    const { url } = await start({ address: 2 });
    for (let count = 0; count < 2; count += 1) expect((await from(`${url}/login`, "2.2.2.2")).status).toBe(200);
    const refused = await from(`${url}/login`, "2.2.2.2");
    expect([refused.status, await refused.json()]).toEqual([
      429,
      { detail: "Too many requests. Try again later.", code: "RATE_LIMITED" },
    ]);
    expect(refused.headers.get("retry-after")).toBe("30");
    expect((await from(`${url}/login`, "3.3.3.3")).status).toBe(200);
  });

  test("counts token requests separately and returns an OAuth error before reading the body", async () => {
    const { url } = await start({ token: 1, address: 10 });
    const post = { method: "POST", body: "grant_type=client_credentials" };
    expect((await from(url + TOKEN, "2.2.2.2", post)).status).toBe(200);
    const refused = await from(url + TOKEN, "2.2.2.2", post);
    expect(refused.status).toBe(429);
    expect(await refused.json()).toEqual({
      error: "temporarily_unavailable",
      error_description: "Too many requests. Try again later.",
    });
    expect(refused.headers.get("ratelimit")).toMatch(/^"token";r=0;t=\d+$/);
    expect(refused.headers.get("cache-control")).toBe("no-store");
    expect((await from(`${url}/login`, "2.2.2.2")).status).toBe(200);
  });

  test("counts IPv6 requests by /64 network", async () => {
    const { url } = await start({ address: 1 });
    expect((await from(`${url}/login`, "2001:db8:1:2::1")).status).toBe(200);
    expect((await from(`${url}/login`, "2001:db8:1:2:ffff::9")).status).toBe(429);
    expect((await from(`${url}/login`, "2001:db8:1:3::1")).status).toBe(200);
  });

  test("uses only the last entry of X-Forwarded-For, which the trusted proxy wrote", async () => {
    const { url } = await start({ address: 1 });
    expect((await from(`${url}/login`, "2.2.2.2")).status).toBe(200);
    expect((await from(`${url}/login`, "9.9.9.9, 2.2.2.2")).status).toBe(429);
    expect((await from(`${url}/login`, "not an address")).status).toBe(200);
    expect((await from(`${url}/login`, "nor this")).status).toBe(429);
  });

  test("does not count probes and requests for unknown paths", async () => {
    const { url } = await start({ address: 1, account: 1 });
    for (let count = 0; count < 5; count += 1) {
      expect((await fetch(`${url}/healthz`)).status).toBe(200);
      expect((await fetch(`${url}/nothing`)).status).toBe(404);
    }
  });
});

describe("RATE_LIMITS", () => {
  test("sets the given limits, keeps the defaults of the others, and off disables all", () => {
    expect(readConfig({}).rateLimits).toEqual({});
    expect(readConfig({ RATE_LIMITS: "account=600, token=0" }).rateLimits).toEqual({ account: 600, token: 0 });
    expect(readConfig({ RATE_LIMITS: "off" }).rateLimits).toEqual({ account: 0, address: 0, token: 0 });
  });

  test.each(["600", "account", "account=", "account=-1", "account=1e3", "user=5", "off=1"])(
    "rejects the value %s",
    (value) => {
      expect(() => readConfig({ RATE_LIMITS: value })).toThrow(/^RATE_LIMITS contains /);
    },
  );
});
