import { describe, expect, it } from "vitest";
import { parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import { buildRequest, type OutgoingRequest } from "../../../src/integrations/openapi/requests/request.ts";
import { serverAddress } from "../../../src/integrations/openapi/requests/server-address.ts";
import type { JsonObject, JsonValue } from "../../../src/json.ts";

const SERVER = { origin: "https://api.test", basePath: "/v1" };

function build(
  path: string,
  operation: JsonObject,
  args: JsonObject,
  more: JsonObject = {},
  method = "post",
): OutgoingRequest {
  const document = parseOpenApi(
    JSON.stringify({ openapi: "3.1.0", paths: { [path]: { [method]: operation } }, ...more }),
  );
  const [first] = operationsOf(document, { category: undefined, credentialProperty: "api_token" });
  if (first === undefined) throw new Error("no operation");
  return buildRequest(first, args, SERVER, { api_token: "s3cr:et", site: "acme" });
}

describe("serializes parameters in every style (the tables of OpenAPI 3.1 «Style Examples»)", () => {
  const array = ["blue", "black", "brown"];
  const object = { R: 100, G: 200, B: 150 };

  it.each<[string, boolean, JsonValue, string]>([
    ["simple", false, "blue", "blue"],
    ["simple", false, array, "blue,black,brown"],
    ["simple", false, object, "R,100,G,200,B,150"],
    ["simple", true, object, "R=100,G=200,B=150"],
    ["label", false, "blue", ".blue"],
    ["label", false, array, ".blue,black,brown"],
    ["label", true, array, ".blue.black.brown"],
    ["label", false, object, ".R,100,G,200,B,150"],
    ["label", true, object, ".R=100.G=200.B=150"],
    ["matrix", false, "blue", ";color=blue"],
    ["matrix", false, array, ";color=blue,black,brown"],
    ["matrix", true, array, ";color=blue;color=black;color=brown"],
    ["matrix", false, object, ";color=R,100,G,200,B,150"],
    ["matrix", true, object, ";R=100;G=200;B=150"],
  ])("path %s explode=%s %j", (style, explode, value, expected) => {
    const parameters = [{ name: "color", in: "path", required: true, style, explode, schema: {} }];
    expect(build("/x/{color}", { parameters }, { color: value }).path).toBe(`/v1/x/${expected}`);
  });

  it.each<[string, boolean, JsonValue, string]>([
    ["form", true, "a b&c", "color=a%20b%26c"],
    ["form", true, "", "color="],
    ["form", true, array, "color=blue&color=black&color=brown"],
    ["form", false, array, "color=blue,black,brown"],
    ["form", false, ["a,b", "c"], "color=a%2Cb,c"],
    ["form", true, object, "R=100&G=200&B=150"],
    ["form", false, object, "color=R,100,G,200,B,150"],
    ["spaceDelimited", false, array, "color=blue%20black%20brown"],
    ["pipeDelimited", false, array, "color=blue%7Cblack%7Cbrown"],
    ["spaceDelimited", true, array, "color=blue&color=black&color=brown"],
    ["deepObject", true, object, "color%5BR%5D=100&color%5BG%5D=200&color%5BB%5D=150"],
    ["deepObject", true, { a: { b: [1, 2] } }, "color%5Ba%5D%5Bb%5D%5B0%5D=1&color%5Ba%5D%5Bb%5D%5B1%5D=2"],
    ["deepObject", true, ["x", { y: [3] }], "color%5B0%5D=x&color%5B1%5D%5By%5D%5B0%5D=3"],
    ["form", true, [], ""],
  ])("query %s explode=%s %j", (style, explode, value, expected) => {
    const parameters = [{ name: "color", in: "query", style, explode, schema: {} }];
    expect(build("/x", { parameters }, { color: value }).path).toBe(expected === "" ? "/v1/x" : `/v1/x?${expected}`);
  });

  it("keeps allowed reserved characters, sends JSON content as one text, and omits null and absent values", () => {
    const parameters = [
      { name: "a", in: "query", allowReserved: true, schema: {} },
      { name: "b", in: "query", content: { "application/json": { schema: {} } } },
      { name: "c", in: "query", schema: {} },
      { name: "d", in: "query", schema: {} },
    ];
    const { path } = build("/x", { parameters }, { a: "/a?b=c&d#e", b: { x: [1] }, c: null });
    expect(path).toBe("/v1/x?a=/a?b=c%26d%23e&b=%7B%22x%22%3A%5B1%5D%7D");
  });

  it("serializes headers and cookies", () => {
    const parameters = [
      { name: "X-List", in: "header", schema: {} },
      { name: "X-Object", in: "header", explode: true, schema: {} },
      { name: "tz", in: "cookie", schema: {} },
      { name: "n", in: "cookie", schema: {} },
    ];
    const { headers } = build(
      "/x",
      { parameters },
      { "X-List": [1, 2], "X-Object": { a: 1 }, tz: "Europe/Rome", n: 1 },
    );
    expect(headers).toMatchObject({ "x-list": "1,2", "x-object": "a=1", cookie: "tz=Europe%2FRome; n=1" });
  });
});

describe("rejects arguments that escape their location", () => {
  const parameters = [{ name: "id", in: "path", required: true, schema: {} }];

  it.each(["..", ".", "", "../admin", "a/../b", "..\\admin", "a/..", "\0", "a/./b"])(
    "rejects the path parameter %j",
    (id) => {
      expect(() => build("/x/{id}/y", { parameters }, { id })).toThrow('"id"');
    },
  );

  it.each<[string, string]>([
    ["a/b", "a%2Fb"],
    ["a?b#c", "a%3Fb%23c"],
    ["%2e%2e", "%252e%252e"],
    ["a b", "a%20b"],
    ["…", "%E2%80%A6"],
    ["\ud800", "%EF%BF%BD"],
    ["$&", "%24%26"],
    ["..a", "..a"],
    ["{id}", "%7Bid%7D"],
    ["!'()*", "%21%27%28%29%2A"],
  ])("path parameter %j is encoded", (id, expected) => {
    expect(build("/x/{id}/y", { parameters }, { id }).path).toBe(`/v1/x/${expected}/y`);
  });

  it.each(["a\r\nX-Evil: 1", "a\n", "snowman ☃"])("rejects the header %j", (value) => {
    const header = [{ name: "X-A", in: "header", schema: {} }];
    expect(() => build("/x", { parameters: header }, { "X-A": value })).toThrow('"X-A"');
  });

  it("does not send an undeclared argument", () => {
    expect(build("/x", {}, { evil: "1", toString: "2" })).toMatchObject({ path: "/v1/x", body: undefined });
  });
});

describe("bodies", () => {
  const body = (type: string, schema: JsonValue, more: JsonObject = {}): JsonObject => ({
    requestBody: { required: true, content: { [type]: { schema, ...more } } },
  });
  const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
    type: "object",
    properties,
    ...more,
  });

  it("include undeclared JSON fields if the contract allows them", () => {
    const operation = body(
      "application/json; charset=utf-8",
      object({ "@type": {}, a: {} }, { additionalProperties: true }),
    );
    const request = build("/x", operation, { type: "t", a: [1], other: { b: null } });
    expect(request.headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(JSON.parse(request.body as string)).toEqual({ "@type": "t", a: [1], other: { b: null } });
  });

  it("are sent as JSON from a single argument, and omitted without it", () => {
    const operation = { requestBody: { content: { "application/json": { schema: { type: "array", items: {} } } } } };
    expect(build("/x", operation, { body: [1] }).body).toBe("[1]");
    const without = build("/x", operation, {});
    expect(without.body).toBeUndefined();
    expect(without.headers).not.toHaveProperty("content-type");
  });

  it("are sent as forms, with lists and objects in the style of their encoding", () => {
    const encoding = { meta: { style: "deepObject", explode: true }, raw: { contentType: "application/json" } };
    const operation = body("application/x-www-form-urlencoded", object({ a: {}, list: {}, meta: {}, raw: {} }), {
      encoding,
    });
    const request = build("/x", operation, { a: "1 & 2", list: [1, 2], meta: { k: "v" }, raw: { x: 1 } });
    expect(request.body).toBe("a=1%20%26%202&list=1&list=2&meta%5Bk%5D=v&raw=%7B%22x%22%3A1%7D");
  });

  it("are sent as multipart that a form parser can read", async () => {
    const operation = body(
      "multipart/form-data",
      object({ title: {}, meta: {}, file: { type: "string", format: "binary" } }),
    );
    const file = {
      content: Buffer.from([0, 255, 13, 10]).toString("base64"),
      filename: 'a"\r\nX: 1.bin',
      media_type: "image/png",
    };
    const request = build("/x", operation, { title: "Ü", meta: { a: 1 }, file });

    const headers = { "content-type": request.headers["content-type"] ?? "" };
    const response = new Response(request.body as Buffer<ArrayBuffer>, { headers });
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the form is our own; an independent parser reads it
    const form = await response.formData();
    expect(form.get("title")).toBe("Ü");
    const part = form.get("file") as File;
    expect(part.type).toBe("image/png");
    expect([...new Uint8Array(await part.arrayBuffer())]).toEqual([0, 255, 13, 10]);
    expect(part.name).toBe(file.filename);
    expect((request.body as Buffer).toString("latin1")).not.toContain("\nX: 1");
  });

  it("are sent as text or bytes", () => {
    expect(build("/x", body("text/plain", { type: "string" }), { body: "hi" })).toMatchObject({ body: "hi" });
    const request = build("/x", body("image/*", {}), { body: "AAE=" });
    expect(request).toMatchObject({
      body: Buffer.from([0, 1]),
      headers: { "content-type": "application/octet-stream" },
    });
  });
});

describe("sends the credential in the place that the security scheme names", () => {
  const secured = (scheme: JsonObject): JsonObject => ({
    security: [{ unknown: [] }, {}, { s: [] }],
    components: { securitySchemes: { s: scheme, unknown: { type: "mutualTLS" } } },
  });

  it.each<[JsonObject, JsonObject]>([
    [{ type: "http", scheme: "bearer" }, { headers: { authorization: "Bearer s3cr:et" } }],
    [{ type: "http", scheme: "Basic" }, { headers: { authorization: `Basic ${btoa("s3cr:et:")}` } }],
    [
      { type: "http", scheme: "basic", "x-patchbay-credential": { username: "{site}", password: "{api_token}" } },
      { headers: { authorization: `Basic ${btoa("acme:s3cr:et")}` } },
    ],
    [{ type: "apiKey", in: "header", name: "X-Key" }, { headers: { "x-key": "s3cr:et" } }],
    [
      { type: "apiKey", in: "header", name: "Authorization", "x-patchbay-credential": { value: "Token {api_token}" } },
      { headers: { authorization: "Token s3cr:et" } },
    ],
    [{ type: "apiKey", in: "query", name: "key" }, { path: "/v1/x?key=s3cr%3Aet" }],
    [{ type: "apiKey", in: "cookie", name: "key" }, { headers: { cookie: "key=s3cr%3Aet" } }],
    [{ type: "oauth2", flows: {} }, { headers: { authorization: "Bearer s3cr:et" } }],
  ])("%j", (scheme, expected) => {
    expect(build("/x", {}, {}, secured(scheme))).toMatchObject(expected);
  });

  it("an argument cannot replace the credential", () => {
    const parameters = [{ name: "X-Key", in: "header", schema: {} }];
    const scheme = secured({ type: "apiKey", in: "header", name: "x-key" });
    expect(build("/x", { parameters }, { "X-Key": "mine" }, scheme).headers["x-key"]).toBe("s3cr:et");
  });

  it("sends no credential if the operation requires none", () => {
    const request = build("/x", { security: [] }, {}, secured({ type: "http", scheme: "bearer" }));
    expect(request.headers).not.toHaveProperty("authorization");
  });
});

describe("the server's address", () => {
  const at = (url: string, configuration: JsonObject, override?: string): string => {
    const { origin, basePath } = serverAddress({ url, defaults: new Map([["region", "eu"]]) }, configuration, override);
    return origin + basePath;
  };

  it("takes its variables from the configuration, or else from their defaults", () => {
    expect(at("https://{site}.{region}.test/api/{site}/", { site: "Acme" })).toBe("https://acme.eu.test/api/Acme");
  });

  it.each(["a.b", "a/b", "a@b", "a:1", "a#", "a?", "a\\b", "", "-a", "a%2e", " a", "a\n"])(
    "rejects the host variable %j",
    (site) => {
      expect(() => at("https://{site}.test", { site })).toThrow("site must be one part of a host name");
    },
  );

  it("encodes a path variable, which cannot leave its path segment", () => {
    expect(at("https://x.test/{site}/v1", { site: "a/b" })).toBe("https://x.test/a%2Fb/v1");
    expect(() => at("https://x.test/{site}/v1", { site: ".." })).toThrow("site");
  });

  it("may be a whole URL of the configuration, without user, query or fragment", () => {
    expect(at("{base_url}/api/v4", { base_url: "https://git.acme.test/sub/" })).toBe(
      "https://git.acme.test/sub/api/v4",
    );
    for (const base_url of ["https://u:p@x.test", "https://x.test?a", "https://x.test#a", "ftp://x.test", "x.test"])
      expect(() => at("{base_url}", { base_url })).toThrow("base_url must be a web address");
  });

  it("is replaced by the operator's address, keeping its path", () => {
    expect(at("https://{site}.test/api", { site: "a" }, "http://127.0.0.1:4010")).toBe("http://127.0.0.1:4010/api");
    expect(at("{base_url}/api", {}, "http://127.0.0.1:4010/sub/")).toBe("http://127.0.0.1:4010/sub/api");
  });
});
