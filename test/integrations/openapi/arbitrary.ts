import fc, { type Arbitrary } from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/json.ts";

const DAY_MS = 86_400_000;
const MAX_DEPTH = 4;
const date = fc.integer({ min: 0, max: 30_000 }).map((days) => new Date(days * DAY_MS).toISOString().slice(0, 10));

/** Texts with characters that are special in URLs, headers, SQL or HTML. */
const NASTY = ["a/b", "a?b=c&d", "50%", "ü☃", "{id}", "'; drop table x; --", "%2e%2e", "a+b", "#", "$&"];

/** Arguments for a tool: all required ones and some optional ones. */
export function argumentsOf(schema: JsonObject): Arbitrary<JsonObject> {
  return objectOf(schema, schemasOf(schema.definitions), 0);
}

type Definitions = Readonly<Record<string, JsonValue>>;

/** Values that match a Draft 7 schema, for the keywords that the contracts use. */
function valueOf(schema: JsonValue | undefined, definitions: Definitions, depth: number): Arbitrary<JsonValue> {
  if (!isJsonObject(schema)) return fc.oneof(fc.constantFrom(...NASTY), fc.boolean(), fc.integer());
  const inner = (value: JsonValue | undefined): Arbitrary<JsonValue> => valueOf(value, definitions, depth);
  if (schema.const !== undefined) return fc.constant(schema.const);
  if (Array.isArray(schema.enum)) return fc.constantFrom(...schema.enum);
  if (typeof schema.$ref === "string" || schema.allOf !== undefined) return inner(merged(schema, definitions));
  const choices = [...schemaList(schema.oneOf), ...schemaList(schema.anyOf)];
  if (choices.length > 0) return fc.oneof(...choices.map((choice) => inner({ ...base(schema), ...choice })));
  const types = Array.isArray(schema.type) ? schema.type : [schema.type];
  return fc.oneof(...types.map((type) => typedValueOf({ ...schema, type: type ?? null }, definitions, depth)));
}

function typedValueOf(schema: JsonObject, definitions: Definitions, depth: number): Arbitrary<JsonValue> {
  const min = numberOr(schema.minimum, -1_000);
  switch (schema.type) {
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case "integer":
      return fc.integer({ min, max: numberOr(schema.maximum, Math.max(min, 1_000_000)) });
    case "number":
      return fc.integer({ min: min * 4, max: numberOr(schema.maximum, 1_000) * 4 }).map((quarters) => quarters / 4);
    case "array": {
      const minLength = numberOr(schema.minItems, depth === 0 ? 1 : 0);
      const maxLength = Math.max(minLength, Math.min(numberOr(schema.maxItems, 3), depth > MAX_DEPTH ? 0 : 3));
      const item = valueOf(schema.items, definitions, depth + 1);
      return schema.uniqueItems === true
        ? fc.uniqueArray(item, { minLength, maxLength, selector: (value) => JSON.stringify(value) })
        : fc.array(item, { minLength, maxLength });
    }
    case "object":
      return objectOf(schema, definitions, depth + 1);
    case "string":
      return textOf(schema);
    default:
      return schema.properties === undefined ? fc.constantFrom(...NASTY) : objectOf(schema, definitions, depth + 1);
  }
}

function objectOf(schema: JsonObject, definitions: Definitions, depth: number): Arbitrary<JsonObject> {
  const properties = Object.entries(schemasOf(schema.properties));
  const required = Array.isArray(schema.required) ? schema.required.filter((name) => typeof name === "string") : [];
  const named = properties.filter(([name]) => depth <= MAX_DEPTH || required.includes(name));
  const least = numberOr(schema.minProperties, 0);
  const more = schema.additionalProperties;
  if (properties.length === 0 && isJsonObject(more))
    return fc.dictionary(fc.stringMatching(/^[a-z]{3,8}$/), valueOf(more, definitions, depth), {
      minKeys: least,
      maxKeys: Math.max(least, 2),
      noNullPrototype: true,
    });
  const values = new Map(named.map(([name, inner]) => [name, valueOf(inner, definitions, depth)]));
  const optional = [...values.keys()].filter((name) => !required.includes(name));
  const most = Math.min(numberOr(schema.maxProperties, values.size) - required.length, optional.length);
  // Selected beforehand, because a random subset of many properties rarely satisfies the limits.
  return fc.subarray(optional, { minLength: Math.max(0, least - required.length), maxLength: most }).chain((chosen) => {
    const names = [...required, ...chosen];
    const model = Object.fromEntries(names.map((name) => [name, values.get(name) ?? fc.constantFrom(...NASTY)]));
    return fc.record(model, { noNullPrototype: true });
  });
}

function textOf(schema: JsonObject): Arbitrary<string> {
  const { format, pattern } = schema;
  if (format === "date") return date;
  if (format === "date-time") return date.map((day) => `${day}T12:30:00Z`);
  if (format === "uuid") return fc.uuid();
  if (format === "email") return fc.constantFrom("ava@example.com", "o'brien+x@example.org");
  if (format === "uri") return fc.constantFrom("https://example.com/a?b=c&d=%20", "https://example.com");
  if (schema.contentEncoding === "base64")
    return fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString("base64"));
  // A file name, without ";" and "=" because Prism cannot parse them.
  if (typeof pattern === "string" && pattern.startsWith("^[^/\\\\")) return fc.constantFrom("a.pdf", "ü ☃.txt", "50%");
  const minLength = numberOr(schema.minLength, 1);
  const maxLength = Math.max(minLength, Math.min(numberOr(schema.maxLength, 20), 20));
  if (typeof pattern === "string")
    return fc
      .stringMatching(new RegExp(pattern, "u"), { maxLength: Math.max(40, minLength, ...countsIn(pattern)) })
      .filter((text) => text.length >= minLength && text.length <= numberOr(schema.maxLength, 10_000));
  const fitting = NASTY.filter((text) => text.length >= minLength && text.length <= maxLength);
  const any = fc.string({ minLength, maxLength });
  return fitting.length === 0 ? any : fc.oneof(any, fc.constantFrom(...fitting));
}

/** The repetition bounds of a pattern. */
function countsIn(pattern: string): readonly number[] {
  return [...pattern.matchAll(/\{(\d+)/g)].map(([, count]) => 2 * Number(count));
}

/** Merges a schema with all schemas that it refers to or combines, including their properties. */
function merged(schema: JsonObject, definitions: Definitions): JsonObject {
  const { $ref: reference, allOf, ...rest } = schema;
  const target = typeof reference === "string" ? definitions[reference.slice("#/definitions/".length)] : undefined;
  const parts = [...schemaList(allOf), ...(isJsonObject(target) ? [target] : [])];
  return parts
    .map((part) => merged(part, definitions))
    .reduce<JsonObject>(
      (whole, part) => ({
        ...part,
        ...whole,
        ...both("properties", whole, part, (a, b) => ({ ...schemasOf(b), ...schemasOf(a) })),
        ...both("required", whole, part, (a, b) => [...new Set([a, b].flat())]),
      }),
      rest,
    );
}

function both(
  keyword: string,
  a: JsonObject,
  b: JsonObject,
  join: (a: JsonValue, b: JsonValue) => JsonValue,
): JsonObject {
  const [first, second] = [a[keyword], b[keyword]];
  return first === undefined || second === undefined ? {} : { [keyword]: join(first, second) };
}

/** A schema without its alternatives. */
function base(schema: JsonObject): JsonObject {
  return without(without(schema, "oneOf"), "anyOf");
}

function without(schema: JsonObject, keyword: string): JsonObject {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== keyword));
}

function schemaList(value: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(value) ? value.filter(isJsonObject) : [];
}

function schemasOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
