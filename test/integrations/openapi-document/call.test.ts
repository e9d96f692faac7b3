import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { createWorld, documentOf, options, type Site, startSite, type World } from "./support.ts";

const KEY = "key-nobody-may-see-0123456789";

let world: World;
let site: Site;
let other: Site;
let specUrl: string;

beforeAll(async () => {
  [world, site, other] = await Promise.all([createWorld(), startSite(), startSite()]);
  specUrl = `${site.url}/openapi.json`;
});

afterAll(async () => {
  await site?.close();
  await other?.close();
  await world?.close();
});

beforeEach(() => {
  site.requests.length = 0;
  other.requests.length = 0;
  site.status = 200;
});

const withSchemes = (securitySchemes: JsonObject, more: JsonObject = {}): JsonObject =>
  documentOf({ components: { securitySchemes }, servers: [{ url: `${site.url}/v1` }], ...more });

const BEARER = { type: "http", scheme: "bearer" };
const BASIC = { type: "http", scheme: "basic" };
const HEADER = { type: "apiKey", in: "header", name: "X-Key" };
const QUERY = { type: "apiKey", in: "query", name: "key" };
const basic = (pair: string): string => `Basic ${Buffer.from(pair).toString("base64")}`;

describe("calls", () => {
  test("are sent to the document's server, relative to its URL", async () => {
    const result = await world.call({ spec_url: specUrl }, "list_things");
    expect(result).toMatchObject({ isError: false, structuredContent: { url: "/v1/things" } });
  });

  test("are sent to base_url with its path if it is configured", async () => {
    await world.call({ spec_url: specUrl, base_url: `${other.url}/stage/2` }, "list_things");
    expect(other.requests.map(({ url }) => url)).toEqual(["/stage/2/things"]);
  });
});

describe("the key", () => {
  test.each<[string, JsonObject, JsonObject, JsonObject]>([
    ["as bearer token where the document says so", { a: BEARER }, {}, { authorization: `Bearer ${KEY}` }],
    ["as the header that the document names", { a: HEADER }, {}, { "x-key": KEY }],
    ["as Basic user name", { a: BASIC }, {}, { authorization: basic(`${KEY}:`) }],
    ["as Basic password beside a user name", { a: BASIC }, { username: "ann" }, { authorization: basic(`ann:${KEY}`) }],
    ["as bearer token where the document has no scheme", {}, {}, { authorization: `Bearer ${KEY}` }],
    ["bearer before API key before Basic", { a: BASIC, b: HEADER, c: BEARER }, {}, { authorization: `Bearer ${KEY}` }],
    ["API key before Basic", { a: BASIC, b: HEADER }, {}, { "x-key": KEY }],
    [
      "by the scheme that the owner chose",
      { a: BASIC, b: BEARER },
      { security_scheme: "a" },
      { authorization: basic(`${KEY}:`) },
    ],
  ])("is sent %s", async (_title, schemes, configuration, headers) => {
    await world.call({ spec: withSchemes(schemes), api_token: KEY, ...configuration }, "list_things");
    expect(site.requests[0]?.headers).toMatchObject(headers);
  });

  test("is sent in the query if the document says so", async () => {
    await world.call({ spec: withSchemes({ a: QUERY }), api_token: KEY }, "list_things");
    expect(site.requests[0]?.url).toBe(`/v1/things?key=${KEY}`);
  });

  test("is not sent to operations without security", async () => {
    await world.call({ spec: withSchemes({ a: BEARER }, { security: [] }), api_token: KEY }, "list_things");
    expect(site.requests[0]?.headers.authorization).toBeUndefined();
  });

  test("is not sent with the request for the document", async () => {
    await world.call({ spec_url: specUrl, api_token: KEY }, "list_things");
    for (const { url, headers } of site.requests.filter((each) => each.url === "/openapi.json"))
      expect([url, JSON.stringify(headers).includes(KEY)]).toEqual(["/openapi.json", false]);
  });

  test("is never sent to a server on another site that a fetched document names", async () => {
    site.document = documentOf({ servers: [{ url: `${other.url}/v1` }], info: { title: "Elsewhere", version: "2" } });
    const configuration = { spec_url: `${site.url}/openapi.json`, api_token: KEY };
    const fresh = await createWorld();
    const result = await fresh.call(configuration, "list_things");
    expect(result).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/base_url/) }] });
    expect(await fresh.integration.verify(fresh.target(configuration), options)).toMatchObject({
      outcome: "failed",
      reason: expect.stringMatching(/base_url/),
    });
    expect(other.requests).toEqual([]);
    // Without a key, any address is allowed.
    expect(await fresh.call({ spec_url: configuration.spec_url }, "list_things")).toMatchObject({ isError: false });
    await fresh.close();
    site.document = documentOf();
  });

  test("cannot be inserted into a server address", async () => {
    const spec = documentOf({
      servers: [{ url: `${other.url}/{api_token}`, variables: { api_token: { default: "v1" } } }],
    });
    await world.call({ spec, api_token: KEY }, "list_things");
    expect(other.requests.map(({ url }) => url)).toEqual(["/v1/things"]);
  });

  test("cannot be requested by an extension of a document", async () => {
    const scheme = { ...HEADER, "x-patchbay-credential": { value: "{username}" } };
    await world.call({ spec: withSchemes({ a: scheme }), api_token: KEY, username: "ann" }, "list_things");
    expect(site.requests[0]?.headers["x-key"]).toBe(KEY);
  });
});

describe("verification", () => {
  const verify = (configuration: JsonObject) => world.integration.verify(world.target(configuration, -1), options);

  test("without a key succeeds when the document can be read", async () => {
    expect(await verify({ spec: documentOf({ servers: [{ url: `${site.url}/v1` }] }) })).toEqual({
      outcome: "verified",
    });
    expect(site.requests).toEqual([]);
  });

  test.each([
    [200, "verified"],
    [404, "verified"],
    [401, "failed"],
    [403, "failed"],
    [500, "retry"],
  ])("with a key makes one read: %i is %s", async (status, outcome) => {
    site.status = status;
    const spec = withSchemes({ a: BEARER }, { info: { title: `Answers ${status}`, version: "1" } });
    expect(await verify({ spec, api_token: KEY })).toMatchObject({ outcome });
    // A read with a temporary failure is repeated once.
    expect(site.requests.every(({ method, url }) => method === "GET" && url === "/v1/things")).toBe(true);
  });

  test("fails with a reason if the URL has no document", async () => {
    expect(await verify({ spec: { hello: 1 } })).toMatchObject({
      outcome: "failed",
      reason: expect.stringMatching(/cannot be used/),
    });
  });
});
