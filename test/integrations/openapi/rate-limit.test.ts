import { readFileSync } from "node:fs";
import { afterEach, describe, expect, it } from "vitest";
import { OpenApiError, parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import type { JsonObject, JsonValue } from "../../../src/json.ts";
import { contractText, textOf } from "./subject.ts";
import { createUpstreams, json, LIMITS } from "./upstream.ts";

const upstreams = createUpstreams();
const upstream = upstreams.start;
afterEach(upstreams.stop);

const ok = { responses: { "200": { description: "ok", content: { "application/json": { schema: {} } } } } };

/** Responses that report a reached rate limit. */
const AN_HOUR_FROM_NOW = String(Math.ceil(Date.now() / 1_000) + 3_600);

describe("an upstream with a stated wait", () => {
  it.each<[string, number, Record<string, string>, RegExp]>([
    ["429 in seconds", 429, { "retry-after": "60" }, /try again in 60 seconds/],
    ["429 by a date", 429, { "retry-after": new Date(Date.now() + 90_000).toUTCString() }, /try again in \d+ seconds/],
    ["503", 503, { "retry-after": "60" }, /fault is on its side/],
    ["403 with a time", 403, { "retry-after": "60" }, /That is its rate limit: try again in 60 seconds/],
    [
      "403 with nothing left",
      403,
      { "x-ratelimit-remaining": "0", "x-ratelimit-reset": AN_HOUR_FROM_NOW },
      /That is its rate limit: try again in 3[56]\d\d seconds/,
    ],
  ])("%s pauses calls and rejects them immediately with the remaining time", async (_title, status, headers, said) => {
    let seen = 0;
    const { call, verify } = await upstream((response, _request, count) => {
      seen = count;
      json(response, status, {}, headers);
    });
    const first = await call("list");
    expect(textOf(first)).toMatch(said);
    expect(first.upstreamFault).toBe(status === 503 ? "down" : "busy");
    for (const tool of ["list", "create"]) {
      const result = await call(tool, tool === "create" ? { body: {} } : {});
      expect(result).toMatchObject({ isError: true, upstreamFault: "held_back" });
      expect(textOf(result)).toMatch(
        /^Acme takes no more calls .*Nothing was sent\. Try again in \d+ seconds, at 20\d\d-.*Z\.$/,
      );
    }
    // A rate limit does not mean that the key is invalid.
    expect(await verify()).toMatchObject({ outcome: "retry" });
    expect(seen).toBe(1);
  });

  it("403 without rate limit headers is a rejected key", async () => {
    const { call } = await upstream((response) => {
      json(response, 403, {}, { "x-ratelimit-remaining": "12", "x-ratelimit-reset": AN_HOUR_FROM_NOW });
    });
    expect(await call("list")).toMatchObject({ upstreamFault: "refused_key" });
  });

  it.each<[string, Record<string, string>]>([
    ["without a time", {}],
    ["with none to wait", { "retry-after": "0" }],
    ["with a short time", { "retry-after": "1" }],
  ])("429 %s repeats a call once if it is idempotent", async (_title, headers) => {
    const { call } = await upstream((response, _request, count) => {
      json(response, count === 1 ? 429 : 200, { count }, headers);
    });
    expect(await call("list")).toMatchObject({ isError: false, structuredContent: { count: 2 } });
  });

  it("a 429 without a stated wait pauses for the time that the contract declares", async () => {
    let seen = 0;
    const text = readFileSync("openapi/integrations/airtable.yaml", "utf8");
    const { verify } = await upstream(
      (response, _request, count) => {
        seen = count;
        json(response, 429, {});
      },
      LIMITS,
      text,
      { token: "pat0123456789.abcdef" },
    );
    expect(await verify()).toMatchObject({ outcome: "retry" });
    expect(await verify()).toMatchObject({
      outcome: "retry",
      reason: expect.stringMatching(/Nothing was sent\. Try again in (29|30) seconds/) as string,
    });
    expect(seen).toBe(1);
  });

  it("repeats an idempotent change but no other change", async () => {
    const text = contractText({
      "/things/{id}": {
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        put: { operationId: "replace", ...ok },
        post: { operationId: "append", ...ok },
      },
    });
    const { call } = await upstream(
      (response, _request, count) => json(response, count % 2 === 1 ? 429 : 200, { count }),
      LIMITS,
      text,
    );
    expect(await call("replace", { id: "a" })).toMatchObject({ isError: false, structuredContent: { count: 2 } });
    expect(await call("append", { id: "a" })).toMatchObject({ isError: true, upstreamFault: "busy" });
    expect(await call("append", { id: "a" })).toMatchObject({ isError: false, structuredContent: { count: 4 } });
  });
});

describe("a rate limit that the contract declares", () => {
  it("delays a call for a short wait before sending it, and rejects it for a long wait", async () => {
    const text = contractText(
      {
        "/things": { get: { operationId: "list", ...ok } },
        "/bases/{base}": {
          get: {
            operationId: "get_base",
            parameters: [{ name: "base", in: "path", required: true, schema: { type: "string" } }],
            "x-patchbay-rate-limits": [{ requests: 1, seconds: 3_600, per: "base" }],
            ...ok,
          },
        },
      },
      { "x-patchbay-rate-limits": [{ requests: 2, seconds: 0.3 }] },
    );
    const arrivals: number[] = [];
    const { call } = await upstream(
      (response) => {
        arrivals.push(performance.now());
        json(response, 200, {});
      },
      LIMITS,
      text,
    );
    const results = await Promise.all(Array.from({ length: 5 }, () => call("list")));
    expect(results.every(({ isError }) => !isError)).toBe(true);
    expect(arrivals).toHaveLength(5);
    expect((await call("get_base", { base: "x" })).isError).toBe(false);
    expect((await call("get_base", { base: "y" })).isError).toBe(false);
    expect(await call("get_base", { base: "x" })).toMatchObject({ isError: true, upstreamFault: "held_back" });
    expect(arrivals).toHaveLength(7);
  });

  it.each<[string, JsonValue]>([
    ["no list", { requests: 1, seconds: 1 }],
    ["no count", [{ seconds: 1 }]],
    ["half a request", [{ requests: 0.5, seconds: 1 }]],
    ["too many requests", [{ requests: 5_000, seconds: 3_600 }]],
    ["no time", [{ requests: 1, seconds: 0 }]],
  ])("with %s is refused", (_title, limits) => {
    const root: JsonObject = { openapi: "3.1.0", "x-patchbay-rate-limits": limits, paths: { "/x": { get: ok } } };
    const read = () =>
      operationsOf(parseOpenApi(JSON.stringify(root)), { category: undefined, credentialProperty: undefined });
    expect(read).toThrow(OpenApiError);
  });
});
