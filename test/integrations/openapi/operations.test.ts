import { describe, expect, it } from "vitest";
import { parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import type { Operation } from "../../../src/integrations/openapi/model/operation.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import type { JsonObject, JsonValue } from "../../../src/json.ts";

function convert(version: string, paths: JsonObject): readonly Operation[] {
  const document = parseOpenApi(JSON.stringify({ openapi: version, paths }));
  return operationsOf(document, { category: "misc", credentialProperty: "api_token" });
}

describe("one flat arguments object", () => {
  it("contains the parameters of every location and the properties of the body, and nothing else", () => {
    const [operation] = convert("3.1.0", {
      "/a/{id}": {
        parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
        put: {
          parameters: [
            { name: "id", in: "query", schema: { type: "integer" } },
            { name: "page[size]", in: "query", schema: { type: "integer" } },
            { name: "X-Mode", in: "header", required: true, schema: { type: "string" } },
            { name: "Authorization", in: "header", schema: { type: "string" } },
            { name: "tz", in: "cookie", schema: { type: "string" } },
          ],
          requestBody: {
            required: true,
            content: {
              "application/xml": {},
              "application/json": {
                schema: {
                  type: "object",
                  required: ["name", "at"],
                  properties: { name: { type: "string" }, at: { type: "string", readOnly: true } },
                },
              },
            },
          },
        },
      },
    });
    expect(operation?.tool.inputSchema).toEqual({
      type: "object",
      properties: {
        id: { type: "string" },
        query_id: { type: "integer" },
        page_size: { type: "integer" },
        "X-Mode": { type: "string" },
        tz: { type: "string" },
        name: { type: "string" },
      },
      required: ["id", "X-Mode", "name"],
      additionalProperties: false,
    });
  });

  it("contains undeclared path parameters", () => {
    const [operation] = convert("3.1.0", { "/a/{id}/{b-c}": { get: {} } });
    expect(operation?.tool.inputSchema).toMatchObject({ required: ["id", "b-c"], additionalProperties: false });
  });

  it.each<[string, JsonValue]>([
    ["a list", { type: "array", items: { type: "string" } }],
    [
      "an alternative of objects",
      {
        oneOf: [
          { type: "object", properties: { a: {} } },
          { type: "object", properties: { b: {} } },
        ],
      },
    ],
    ["an object with the name of a parameter", { type: "object", properties: { id: { type: "string" } } }],
    ["an object with free property names", { type: "object", additionalProperties: { type: "string" } }],
  ])("uses the argument body for a body that is %s", (_title, schema) => {
    const [operation] = convert("3.1.0", {
      "/a/{id}": {
        put: {
          parameters: [{ name: "id", in: "path", required: true, schema: { type: "string" } }],
          requestBody: { required: true, content: { "application/json": { schema } } },
        },
      },
    });
    expect(operation?.tool.inputSchema).toMatchObject({ properties: { body: {} }, required: ["id", "body"] });
  });

  it("flattens a body that is combined from parts, and one whose alternatives differ only in required properties", () => {
    const [operation] = convert("3.0.0", {
      "/a": {
        post: {
          requestBody: {
            required: true,
            content: {
              "application/json": {
                schema: {
                  nullable: true,
                  allOf: [
                    { type: "object", properties: { a: { type: "string" } }, required: ["a"] },
                    { type: "object", properties: { b: { type: "string" } }, additionalProperties: true },
                  ],
                  anyOf: [{ required: ["a"] }, { required: ["b"] }],
                },
              },
            },
          },
        },
      },
    });
    expect(operation?.tool.inputSchema).toEqual({
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      required: ["a"],
      additionalProperties: true,
    });
  });
});

describe("names", () => {
  const names = (...ids: string[]): string[] =>
    convert("3.1.0", Object.fromEntries(ids.map((id, at) => [`/${at}`, { get: { operationId: id } }]))).map(
      ({ tool }) => tool.name,
    );

  it("are unique and valid for model hosts", () => {
    const long = "x".repeat(80);
    const found = names("repos/list", "repos list", "repos_list", "a.b", "…", long, `${long}y`, "ok-1");
    for (const name of found) expect(name).toMatch(/^[A-Za-z0-9_-]{1,64}$/);
    expect(new Set(found).size).toBe(found.length);
    expect(found.slice(2, 4)).toEqual(["repos_list", "a_b"]);
  });

  it("do not change when operations are added, in any order", () => {
    const before = names("repos/list", "users/get", "x".repeat(80));
    expect(names("x".repeat(80), "new/one", "users/get", "repos/list").toSorted()).toEqual(
      [...before, "new_one"].toSorted(),
    );
  });

  it("are derived from method and path if there is no operationId", () => {
    const found = convert("3.1.0", { "/a/{id}/b": { get: {}, delete: {} } });
    expect(found.map(({ tool }) => tool.name)).toEqual(["get_a_id_b", "delete_a_id_b"]);
  });
});

describe("annotations", () => {
  it("are derived from the method, the tag and the extensions", () => {
    const found = convert("3.1.0", {
      "/search": {
        post: { operationId: "search", "x-patchbay-read-only": true, "x-patchbay-audience": ["assistant"] },
      },
      "/a": {
        get: { operationId: "a", tags: ["things"] },
        delete: { operationId: "b", "x-patchbay-category": "admin" },
      },
      "/h": { get: { operationId: "h", "x-patchbay-hidden": true } },
    });
    const short = found.map(({ tool: { name, readOnly, annotations } }) => [
      name,
      readOnly,
      annotations.category,
      annotations.audience,
    ]);
    expect(short).toEqual([
      ["search", true, "misc", ["assistant"]],
      ["a", true, "things", ["user", "assistant"]],
      ["b", false, "admin", ["user", "assistant"]],
    ]);
  });

  it("derive further hints from the method, which extensions override", () => {
    const found = convert("3.1.0", {
      "/a": {
        get: { operationId: "read", "x-patchbay-open-world": true },
        put: { operationId: "replace" },
        patch: { operationId: "change" },
        delete: { operationId: "remove", "x-patchbay-destructive": false },
        post: { operationId: "add", "x-patchbay-idempotent": true },
      },
      "/b": { post: { operationId: "act" }, put: { operationId: "peek", "x-patchbay-read-only": true } },
    });
    expect(Object.fromEntries(found.map(({ tool: { name, hints } }) => [name, hints]))).toEqual({
      read: { openWorld: true },
      replace: { destructive: true, idempotent: true },
      change: { destructive: true },
      remove: { destructive: false, idempotent: true },
      add: { idempotent: true },
      act: undefined,
      peek: undefined,
    });
  });

  it("an output schema describes types and requires nothing", () => {
    const [operation] = convert("3.1.0", {
      "/a": {
        get: {
          responses: {
            "200": {
              description: "",
              content: {
                "application/json": {
                  schema: {
                    type: "object",
                    required: ["kind"],
                    additionalProperties: false,
                    properties: { kind: { type: "string", enum: ["x"], maxLength: 1 }, secret: { writeOnly: true } },
                  },
                },
              },
            },
          },
        },
      },
    });
    expect(operation?.tool.outputSchema).toEqual({
      type: "object",
      properties: { kind: { type: "string", examples: ["x"] } },
    });
  });
});

describe("an invalid document", () => {
  it.each<[string, string]>([
    ["{", "not valid JSON"],
    ["a: [", "not valid YAML"],
    ["- 1", "is not an object"],
    ['swagger: "2.0"', 'no "openapi" version'],
    ["openapi: 4.0.0", "OpenAPI 4.0.0"],
    ["openapi: 3.1.0", 'no "paths"'],
  ])("%j returns an error that describes it", (text, message) => {
    expect(() => parseOpenApi(text)).toThrow(message);
  });

  it("rejects YAML that expands to gigabytes", () => {
    const lines = ["a0: &a0 [x,x,x,x,x,x,x,x,x]"];
    for (let at = 1; at < 12; at += 1) lines.push(`a${at}: &a${at} [${`*a${at - 1},`.repeat(9)}]`);
    expect(() => parseOpenApi(lines.join("\n"))).toThrow("not valid YAML");
  });
});
