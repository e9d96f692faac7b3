import { afterAll, describe, expect, it } from "vitest";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";
import type { JsonObject } from "../../src/json.ts";

const validator = createSchemaValidator();
afterAll(() => validator.close());

async function complaint(schema: JsonObject, value: unknown): Promise<string | undefined> {
  return validator.validate(schema, value, "acc_1");
}

const REQUEST: JsonObject = {
  type: "object",
  additionalProperties: false,
  required: ["start", "days"],
  properties: {
    start: { type: "string", format: "date" },
    days: { type: "integer", minimum: 1 },
    status: { type: "string", enum: ["approved", "denied"] },
    domain: { type: "string", pattern: "^[a-z]+$" },
    token: { type: "string", minLength: 8, writeOnly: true },
    tags: { type: "array", uniqueItems: true, items: {} },
    notes: { type: "array", items: { type: "object", required: ["note"], properties: { note: { type: "string" } } } },
  },
};

describe("an error message says what to correct", () => {
  const good = { start: "2026-01-31", days: 1 };
  it.each<[string, unknown, string]>([
    ["every missing property", {}, 'The required properties "start", "days" are missing.'],
    [
      "the path of a missing property",
      { ...good, notes: [{}] },
      'The required property "note" is missing in property "notes[0]".',
    ],
    ["the format of a date", { ...good, start: "31.1.2026" }, 'Property "start" must be a valid date (YYYY-MM-DD).'],
    ["both types", { ...good, days: "1" }, 'Property "days" must be an integer, not a string.'],
    ["the limit", { ...good, days: 0 }, 'Property "days" must be >= 1.'],
    ["the allowed values", { ...good, status: "ok" }, 'Property "status" must be one of "approved", "denied".'],
    ["the pattern", { ...good, domain: "a.b" }, 'Property "domain" must match the pattern ^[a-z]+$.'],
    ["the similar property name", { ...good, strat: "" }, 'Did you mean "start"?'],
    ["that an object is required", [], "The value must be an object, not an array."],
  ])("%s", async (_title, value, message) => {
    expect(await complaint(REQUEST, value)).toContain(message);
  });

  it("returns nothing when the value is valid", async () => {
    expect(await complaint(REQUEST, good)).toBeUndefined();
  });
});

it("a message never quotes the rejected value", async () => {
  expect(await complaint(REQUEST, { start: "2026-01-31", days: 1, token: "s3cret" })).toBe(
    'Property "token" must NOT have fewer than 8 characters.',
  );
});

describe("an untrusted schema cannot block the process", () => {
  it("checks a catastrophic pattern in linear time", async () => {
    const schema = { type: "object", properties: { text: { type: "string", pattern: "^(a+)+$" } } };
    expect(await complaint(schema, { text: `${"a".repeat(50_000)}!` })).toContain("must match the pattern");
  });

  it("accepts every value for a pattern that RE2 does not support, because the upstream checks it", async () => {
    const schema = { type: "object", properties: { text: { type: "string", pattern: "^(?=x)x\\1$" } } };
    expect(await complaint(schema, { text: "anything" })).toBeUndefined();
  });

  it("rejects references that double thirty times", async () => {
    const definitions: JsonObject = { d30: { type: "object" } };
    for (let level = 0; level < 30; level += 1) {
      const next = { $ref: `#/definitions/d${level + 1}` };
      definitions[`d${level}`] = { allOf: [next, next] };
    }
    const schema = { type: "object", definitions, allOf: [{ $ref: "#/definitions/d0" }] };
    await expect(complaint(schema, {})).rejects.toThrow("too expensive to check");
  });

  it("checks uniqueItems over twenty thousand objects, ignoring the order of keys", async () => {
    const items = Array.from({ length: 20_000 }, (_, index): JsonObject => ({ a: index, b: 0 }));
    expect(await complaint({ type: "object", properties: REQUEST.properties ?? {} }, { tags: items })).toBeUndefined();
    expect(
      await complaint({ type: "object", properties: REQUEST.properties ?? {} }, { tags: [...items, { b: 0, a: 7 }] }),
    ).toContain("same item twice");
  });

  it.each<[string, JsonObject]>([
    ["a dangling reference", { type: "object", $ref: "#/definitions/missing" }],
    ["an unknown type", { type: "thing" }],
    ["an unknown dialect", { $schema: "https://example.com/schema", type: "object" }],
    ["a reference to itself", { $ref: "#" }],
    ["a `required` that is not a list", { type: "object", required: true }],
  ])("accepts any object for a schema with %s", async (_title, schema) => {
    expect(await complaint(schema, { any: "thing" })).toBeUndefined();
  });
});

it("checks a 2020-12 schema by the rules of 2020-12", async () => {
  const schema = {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    type: "object",
    properties: { pair: { type: "array", prefixItems: [{ type: "string" }] } },
  };
  expect(await complaint(schema, { pair: [1] })).toBe('Property "pair[0]" must be a string, not a number.');
});

it("schemas with the same $id do not conflict", async () => {
  expect(await complaint({ $id: "a", type: "object", required: ["x"] }, {})).toContain('"x"');
  expect(await complaint({ $id: "a", type: "object", required: ["y"] }, {})).toContain('"y"');
});

it("does not count inherited members as properties of a value", async () => {
  const schema = { type: "object", properties: { constructor: { type: "number" } }, required: ["toString"] };
  expect(await complaint({ ...schema, required: [] }, {})).toBeUndefined();
  expect(await complaint(schema, {})).toContain('"toString"');
});
