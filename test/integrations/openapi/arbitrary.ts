import fc, { type Arbitrary } from "fast-check";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../src/json.ts";

const DAY_MS = 86_400_000;
const date = fc.integer({ min: 0, max: 30_000 }).map((days) => new Date(days * DAY_MS).toISOString().slice(0, 10));

/** Text that looks harmless and text that does not. */
const text = fc.oneof(
  fc.string({ minLength: 1, maxLength: 20 }),
  fc.constantFrom("a/b", "a?b=c&d", "50%", "ü☃", "{id}", "'; drop table x; --", "%2e%2e", "a+b", "#", "$&"),
);

/** Values that fit a schema of Draft 7, as far as the contracts here use it. */
export function valueOf(schema: JsonValue | undefined): Arbitrary<JsonValue> {
  if (!isJsonObject(schema)) return text;
  if (Array.isArray(schema["enum"])) return fc.constantFrom(...schema["enum"]);
  switch (schema["type"]) {
    case "boolean":
      return fc.boolean();
    case "integer":
      return fc.integer({ min: numberOr(schema["minimum"], -1_000), max: numberOr(schema["maximum"], 1_000_000) });
    case "number":
      return fc.integer({ min: numberOr(schema["minimum"], -1_000) * 4, max: 4_000 }).map((quarters) => quarters / 4);
    case "array":
      return fc.array(valueOf(schema["items"]), { minLength: 1, maxLength: 3 });
    case "object":
      return objectOf(schema);
    default:
      return stringOf(schema);
  }
}

/** Objects that fit: all required properties, and any of the others. */
export function objectOf(schema: JsonObject): Arbitrary<JsonObject> {
  const properties = Object.entries((schema["properties"] ?? {}) as JsonObject);
  const required = (schema["required"] ?? []) as string[];
  return fc.record(Object.fromEntries(properties.map(([name, inner]) => [name, valueOf(inner)])), {
    requiredKeys: required,
    noNullPrototype: true,
  });
}

function stringOf(schema: JsonObject): Arbitrary<JsonValue> {
  if (schema["format"] === "date") return date;
  if (schema["format"] === "date-time") return date.map((day) => `${day}T12:30:00Z`);
  if (schema["contentEncoding"] === "base64")
    return fc.uint8Array({ minLength: 1 }).map((bytes) => Buffer.from(bytes).toString("base64"));
  const pattern = schema["pattern"];
  if (pattern === "^[0-9]+$") return fc.nat().map(String);
  // The name of a file: a mock that splits at ";" and "=" reads no others.
  if (typeof pattern === "string" && pattern.startsWith("^[^")) return fc.constantFrom("a.pdf", "ü ☃.txt", "50%");
  if (pattern !== undefined) return fc.constant("application/pdf");
  return text;
}

function numberOr(value: JsonValue | undefined, fallback: number): number {
  return typeof value === "number" ? value : fallback;
}
