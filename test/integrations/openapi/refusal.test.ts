import { afterEach, describe, expect, it } from "vitest";
import { KEY, textOf } from "./subject.ts";
import { createUpstreams, json } from "./upstream.ts";

const upstreams = createUpstreams();
const upstream = upstreams.start;
afterEach(upstreams.stop);

const BASIC = Buffer.from(`${KEY}:x`).toString("base64");

describe("returns the status, the message and a remedy for a rejected call", () => {
  it.each<[number, unknown, Record<string, string>, string, string]>([
    [400, { error: { message: "limit is odd" } }, {}, "limit is odd", "Correct the arguments"],
    [401, {}, {}, "answered 401", "replace it with a new api_key"],
    [403, "", { "x-why": "No access to pay" }, "No access to pay", "Ask for the permission"],
    [404, { errors: [{ detail: "gone" }, { detail: "away" }] }, {}, "gone; away", "check the ids"],
    [409, { title: "taken" }, {}, "taken", "read that again"],
    [422, { errorMessages: ["a is wrong"] }, {}, "a is wrong", "Correct the arguments"],
    [429, {}, { "retry-after": "17" }, "answered 429", "try again in 17 seconds"],
    [429, {}, {}, "answered 429", "wait a minute"],
    [500, { fault: { description: "boom" } }, {}, "boom", "The fault is on its side"],
  ])("describes %i %j", async (status, body, headers, words, advice) => {
    const { call } = await upstream((response) => {
      json(response, status, body, headers);
    });
    const result = await call("list");
    expect(result).toMatchObject({ isError: true });
    expect(textOf(result)).toContain(words);
    expect(textOf(result)).toContain(advice);
  });

  it.each([
    [400, undefined],
    [401, "refused_key"],
    [403, "refused_key"],
    [404, undefined],
    [429, "busy"],
    [500, "down"],
    [302, "other"],
  ])("marks %i as an upstream fault: %s", async (status, fault) => {
    const { call } = await upstream((response) => {
      json(response, status, {});
    });
    expect((await call("list")).upstreamFault).toBe(fault);
  });

  it("extracts text from HTML", async () => {
    const { call } = await upstream((response) => {
      response.writeHead(500, { "content-type": "text/html" });
      response.end("<html><style>b{}</style><h1>Server <b>error</b></h1></html>");
    });
    expect(textOf(await call("list"))).toBe(
      "Acme answered 500. It says: Server error. The fault is on its side; try again later.",
    );
  });

  it.each([
    [200, "verified"],
    [204, "verified"],
    [401, "failed"],
    [403, "failed"],
    [404, "retry"],
    [429, "retry"],
    [500, "retry"],
  ])("maps a verification answered with %i to %s", async (status, outcome) => {
    const { verify } = await upstream((response) => {
      response.writeHead(status).end();
    });
    expect(await verify()).toMatchObject({ outcome });
  });
});

describe("never returns the key", () => {
  const echoes: [string, string][] = [
    ["unchanged", KEY],
    ["as a header value", `Basic ${BASIC}`],
    ["as part of a URL", encodeURIComponent(KEY)],
    ["in base64", Buffer.from(KEY).toString("base64")],
  ];

  it.each(echoes)("redacts it in errors: %s", async (_form, echo) => {
    const { call, verify } = await upstream((response) => {
      json(response, 400, { message: `You sent ${echo} here` });
    });
    const text = textOf(await call("list"));
    expect(text).toContain("You sent");
    expect(text).toContain("[redacted]");
    expect(text).not.toContain(echo);
    expect(JSON.stringify(await verify())).not.toContain(echo);
  });

  it.each(echoes)("redacts it in answers: %s", async (_form, echo) => {
    const { call } = await upstream((response) => {
      json(response, 200, { headers: { authorization: echo } });
    });
    const result = await call("list");
    expect(result).toMatchObject({ isError: false });
    expect(JSON.stringify(result)).not.toContain(echo);
  });

  it("redacts it in bytes, redirect URLs and headers", async () => {
    const { call } = await upstream((response, _request, count) => {
      if (count === 1) response.writeHead(200, { "content-type": "application/zip" }).end(`PK\0\0${KEY}`);
      else if (count === 2) response.writeHead(302, { location: `https://x.test/?k=${KEY}` }).end();
      else response.writeHead(201, { location: `https://x.test/${encodeURIComponent(KEY)}` }).end();
    });
    const results = [await call("list"), await call("list"), await call("create", { body: {} })];
    expect(JSON.stringify(results)).not.toContain(KEY);
    expect(JSON.stringify(results)).not.toContain(encodeURIComponent(KEY));
    expect(JSON.stringify(results)).not.toContain(Buffer.from(`PK\0\0${KEY}`).toString("base64"));
  });

  it("sends nothing if the connection has no key", async () => {
    let seen = 0;
    const { integration } = await upstream((response, _request, count) => {
      seen = count;
      response.end();
    });
    const signal = new AbortController().signal;
    const bare = { accountId: "a", connectionId: 1, keyVersion: 1, configuration: {} };
    const [tool] = await integration.listTools(bare, { signal });
    if (tool === undefined) throw new Error("no tools");
    expect(textOf(await integration.callTool(bare, tool, {}, { signal }))).toContain("no usable key");
    expect(await integration.verify(bare, { signal })).toMatchObject({ outcome: "retry" });
    expect(seen).toBe(0);
  });
});
