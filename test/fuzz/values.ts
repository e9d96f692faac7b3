import type { JsonObject, JsonValue } from "../../src/json.ts";
import { isJsonObject } from "../../src/json.ts";
import type { Document, Schema } from "../contract/document.ts";
import { plain } from "../contract/document.ts";
import type { Random } from "./random.ts";

/** Strings that have broken parsers, databases and terminals. */
const ODD_TEXTS = [
  ...["", " ", "\0", "a\0b", "null", "undefined", "NaN", "-0", "1e999", "0x10", "__proto__", "constructor", "toString"],
  ...["'; drop table connection; --", "{{7*7}}", "${7*7}", "../../../etc/passwd", "%00", "%", "%zz", "\r\nx-a: b"],
  ...["\u202e", "\ufeff", "\ud800", "\u{1f4a5}", "İ", "ß", "e\u0301", "a".repeat(70_000), "\\", '"', "<script>"],
  ...["http://169.254.169.254/", "file:///etc/passwd", "https://[::1]:1/", "javascript:alert(1)"],
];

const ODD_NUMBERS = [
  0,
  -1,
  1,
  -0,
  0.1,
  1e21,
  2 ** 31,
  2 ** 31 - 1,
  -(2 ** 31),
  2 ** 53,
  2 ** 63,
  Number.MAX_VALUE,
  5e-324,
];

export function oddText(random: Random): string {
  if (random.chance(0.7)) return random.pick(ODD_TEXTS);
  return Array.from({ length: random.below(40) }, () => String.fromCodePoint(random.below(0xd7ff))).join("");
}

export function oddValue(random: Random, depth = 0): JsonValue {
  switch (random.below(depth > 4 ? 5 : 8)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return random.pick(ODD_NUMBERS);
    case 3:
    case 4:
      return oddText(random);
    case 5:
      return Array.from({ length: random.below(5) }, () => oddValue(random, depth + 1));
    case 6:
      return nested(random.below(60));
    default:
      return Object.fromEntries(
        Array.from({ length: random.below(5) }, () => [oddText(random), oddValue(random, depth + 1)]),
      );
  }
}

function nested(depth: number): JsonValue {
  let value: JsonValue = 1;
  for (let level = 0; level < depth; level += 1) value = { a: value };
  return value;
}

/** Returns a value that a schema allows, as far as that is simple. */
export function validValue(document: Document, given: Schema, random: Random, depth = 0): JsonValue {
  const { schema, takesNull } = plain(document, given);
  if (takesNull && random.chance(0.1)) return null;
  const { type, enum: words, minimum = 0, maximum = 1_000, items, properties = {}, required = [] } = schema;
  if (schema.const !== undefined) return schema.const;
  if (words !== undefined) return random.pick(words);
  if (schema.oneOf !== undefined) return validValue(document, random.pick(schema.oneOf), random, depth);
  if (type === "boolean") return random.chance(0.5);
  if (type === "integer" || type === "number") return minimum + random.below(Math.min(maximum - minimum, 1_000) + 1);
  if (type === "string") return random.chance(0.1) ? oddText(random) : `text ${random.below(1_000)}`;
  if (type === "array") {
    const item = items ?? {};
    return Array.from({ length: depth > 4 ? 0 : random.below(4) }, () => validValue(document, item, random, depth + 1));
  }
  const named = Object.entries(properties).filter(([name]) => required.includes(name) || random.chance(0.5));
  return Object.fromEntries(
    named.map(([name, each]) => [name, depth > 4 ? null : validValue(document, each, random, depth + 1)]),
  );
}

/** Returns the value with one part made invalid. */
export function spoiled(value: JsonValue, random: Random): JsonValue {
  if (!isJsonObject(value) || random.chance(0.1)) return oddValue(random);
  const names = Object.keys(value);
  const changed: Record<string, JsonValue> = { ...value };
  const name = names.length === 0 || random.chance(0.2) ? oddText(random) : random.pick(names);
  if (random.chance(0.2)) delete changed[name];
  else changed[name] = random.chance(0.4) ? spoiled(value[name] ?? null, random) : oddValue(random);
  return changed as JsonObject;
}
