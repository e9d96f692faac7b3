import { Ajv } from "ajv";
import addFormats from "ajv-formats";
import { describe, expect, it } from "vitest";
import { parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import type { Operation } from "../../../src/integrations/openapi/model/operation.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";
import type { JsonObject, JsonValue } from "../../../src/json.ts";

const DEFAULTS = { category: "misc", credentialProperty: "api_token" };

function convert(version: string, paths: JsonObject, more: JsonObject = {}): readonly Operation[] {
  return operationsOf(parseOpenApi(JSON.stringify({ openapi: version, paths, ...more })), DEFAULTS);
}

/** Converts a schema as the schema of a query parameter. */
function schemaOf(version: string, schema: JsonValue, schemas: JsonObject = {}): JsonObject {
  const parameters = [{ name: "p", in: "query", schema }];
  const [operation] = convert(version, { "/x": { get: { parameters } } }, { components: { schemas } });
  const input = operation?.tool.inputSchema ?? {};
  const properties = input["properties"] as JsonObject;
  return {
    ...(properties["p"] as JsonObject),
    ...("definitions" in input ? { definitions: input["definitions"] ?? {} } : {}),
  };
}

function compiles(schema: JsonObject): boolean {
  const ajv = new Ajv({ strict: false, logger: false });
  addFormats.default(ajv);
  return ajv.validateSchema(schema) === true && typeof ajv.compile(schema) === "function";
}

describe("OpenAPI 3.0 becomes Draft 7", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["nullable", { type: "string", nullable: true }, { type: ["string", "null"] }],
    ["nullable enum", { type: "string", enum: ["a"], nullable: true }, { type: ["string", "null"], enum: ["a", null] }],
    [
      "nullable reference",
      { allOf: [{ $ref: "#/components/schemas/A" }], nullable: true },
      { anyOf: [{ allOf: [{ $ref: "#/definitions/A" }] }, { type: "null" }], definitions: { A: { type: "integer" } } },
    ],
    [
      "exclusive limits",
      { type: "number", minimum: 1, exclusiveMinimum: true },
      { type: "number", exclusiveMinimum: 1 },
    ],
    ["non-exclusive limits", { maximum: 9, exclusiveMaximum: false }, { maximum: 9 }],
    ["example", { type: "string", example: "x" }, { type: "string", examples: ["x"] }],
    ["discriminator, xml, extensions", { type: "object", discriminator: {}, xml: {}, "x-a": 1 }, { type: "object" }],
    [
      "ignored siblings of a reference",
      { $ref: "#/components/schemas/A", minimum: 5 },
      { $ref: "#/definitions/A", definitions: { A: { type: "integer" } } },
    ],
  ])("%s", (_title, schema, expected) => {
    const converted = schemaOf("3.0.3", schema, { A: { type: "integer" } });
    expect(converted).toEqual(expected);
    expect(compiles(converted)).toBe(true);
  });
});

describe("OpenAPI 3.1 becomes Draft 7", () => {
  it.each<[string, JsonObject, JsonObject]>([
    ["type lists", { type: ["string", "null"] }, { type: ["string", "null"] }],
    ["const", { const: 1 }, { const: 1 }],
    ["exclusive limits", { exclusiveMinimum: 1, maximum: 5 }, { exclusiveMinimum: 1, maximum: 5 }],
    [
      "prefixItems",
      { type: "array", prefixItems: [{ type: "string" }], items: { type: "integer" } },
      { type: "array", items: [{ type: "string" }], additionalItems: { type: "integer" } },
    ],
    ["prefixItems alone", { prefixItems: [{}], items: false }, { items: [{}], additionalItems: false }],
    [
      "dependent keywords",
      { dependentRequired: { a: ["b"] }, dependentSchemas: { c: { minProperties: 2 } } },
      { dependencies: { a: ["b"], c: { minProperties: 2 } } },
    ],
    [
      "unevaluatedProperties as additionalProperties",
      { type: "object", unevaluatedProperties: false },
      { type: "object", additionalProperties: false },
    ],
    [
      "unevaluatedProperties elsewhere",
      { allOf: [{ type: "object" }], unevaluatedProperties: false },
      { allOf: [{ type: "object" }] },
    ],
    [
      "references into $defs",
      { $ref: "#/components/schemas/B/$defs/Inner" },
      { $ref: "#/definitions/Inner", definitions: { Inner: { type: "boolean" } } },
    ],
    [
      "applied siblings of a reference",
      { $ref: "#/components/schemas/A", minimum: 5 },
      { minimum: 5, allOf: [{ $ref: "#/definitions/A" }], definitions: { A: { type: "integer" } } },
    ],
  ])("%s", (_title, schema, expected) => {
    const schemas = { A: { type: "integer" }, B: { $defs: { Inner: { type: "boolean" } } } };
    const converted = schemaOf("3.1.0", schema, schemas);
    expect(converted).toEqual(expected);
    expect(compiles(converted)).toBe(true);
  });
});

describe("references", () => {
  it("a recursive schema stays recursive and can be serialized as JSON", () => {
    const Node = { type: "object", properties: { next: { $ref: "#/components/schemas/Node" } } };
    const converted = schemaOf("3.1.0", { $ref: "#/components/schemas/Node" }, { Node });
    expect(converted).toEqual({
      $ref: "#/definitions/Node",
      definitions: { Node: { type: "object", properties: { next: { $ref: "#/definitions/Node" } } } },
    });
    expect(compiles(converted)).toBe(true);
  });

  it.each(["#/components/schemas/Missing", "other.yaml#/A", "https://evil.test/a.json", "file:///etc/passwd"])(
    "rejects %s with a message that names the reference",
    ($ref) => {
      expect(() => schemaOf("3.1.0", { $ref })).toThrow($ref);
    },
  );

  it("rejects a circular chain of references", () => {
    const parameters = { A: { $ref: "#/components/parameters/B" }, B: { $ref: "#/components/parameters/A" } };
    const paths = { "/x": { get: { parameters: [{ $ref: "#/components/parameters/A" }] } } };
    expect(() => convert("3.1.0", paths, { components: { parameters } })).toThrow("only lead to each other");
  });

  it("properties named like inherited members are kept", () => {
    const schema = JSON.parse(
      '{"type":"object","properties":{"__proto__":{"type":"string"},"constructor":{}}}',
    ) as JsonObject;
    expect(Object.keys(schemaOf("3.1.0", schema)["properties"] as JsonObject)).toEqual(["__proto__", "constructor"]);
  });
});
