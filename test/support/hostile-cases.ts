import type { JsonObject, JsonValue } from "../../src/json.ts";

/** A tool whose schema or arguments are slow to validate. */
export interface HostileCase {
  readonly name: string;
  readonly inputSchema: JsonObject;
  readonly args: JsonObject;
  /** Whether no machine can validate it within 250 ms. */
  readonly isEndless?: boolean;
}

const DRAFT_2020 = "https://json-schema.org/draft/2020-12/schema";
const DRAFT_2019 = "https://json-schema.org/draft/2019-09/schema";

function times<Item>(count: number, make: (index: number) => Item): Item[] {
  return Array.from({ length: count }, (_, index) => make(index));
}

function named(count: number, make: (index: number) => JsonValue, prefix = "p"): JsonObject {
  return Object.fromEntries(times(count, (index) => [`${prefix}${index}`, make(index)]));
}

/** A schema for the argument `v`. */
function ofValue(schema: JsonObject, more: JsonObject = {}): JsonObject {
  return { ...more, type: "object", properties: { v: schema } };
}

/** A value nested in itself under one key. */
function nest(levels: number, wrap: (inner: JsonValue) => JsonValue, innermost: JsonValue = {}): JsonValue {
  let value = innermost;
  for (let level = 0; level < levels; level += 1) value = wrap(value);
  return value;
}

function underA(levels: number): JsonObject {
  return { a: nest(levels - 1, (a) => ({ a })) };
}

/** Each definition refers twice to the next one. */
function doubling(levels: number, reference: (level: number) => string): JsonObject {
  return {
    ...named(levels, (level) => ({ allOf: times(2, () => ({ $ref: reference(level + 1) })) }), "d"),
    [`d${levels}`]: { type: "object" },
  };
}

function oneProperty(index: number): JsonObject {
  const name = `p${index}`;
  return {
    type: "object",
    required: [name],
    properties: { [name]: { type: "string" } },
    additionalProperties: false,
  };
}

const twoDynamic = times(2, () => ({ $dynamicRef: "#r" }));
const twoRecursive = times(2, () => ({ $recursiveRef: "#" }));

/** Schemas and arguments that once blocked the service, and similar ones. */
export const HOSTILE_CASES: readonly HostileCase[] = [
  { name: "url_colons", inputSchema: ofValue({ format: "url" }), args: { v: `http://${":".repeat(80_000)}` } },
  { name: "any_of_1200", inputSchema: { type: "object", anyOf: times(1_200, oneProperty) }, args: { p0: "a" } },
  {
    name: "dynamic_ref_tree",
    inputSchema: { $schema: DRAFT_2020, $dynamicAnchor: "r", properties: { a: { allOf: twoDynamic } } },
    args: underA(22),
  },
  {
    name: "recursive_ref_tree",
    inputSchema: { $schema: DRAFT_2019, $recursiveAnchor: true, properties: { a: { allOf: twoRecursive } } },
    args: underA(22),
  },
  {
    name: "deeper_dynamic_ref_tree",
    inputSchema: { $schema: DRAFT_2020, $dynamicAnchor: "r", properties: { a: { allOf: twoDynamic } } },
    args: underA(28),
    isEndless: true,
  },
  {
    name: "unique_items_200",
    inputSchema: ofValue({ allOf: times(200, () => ({ uniqueItems: true })) }),
    args: { v: times(20_000, (index) => ({ a: index })) },
    isEndless: true,
  },
  {
    name: "patterns_2000",
    inputSchema: ofValue({ allOf: times(2_000, (index) => ({ pattern: `^([a-z]+[0-9]*)+${index}?` })) }),
    args: { v: "abc1".repeat(100) },
  },
  {
    name: "doubling_references",
    inputSchema: ofValue({ $ref: "#/definitions/d0" }, { definitions: doubling(40, (n) => `#/definitions/d${n}`) }),
    args: { v: {} },
    isEndless: true,
  },
  {
    name: "doubling_anchors",
    inputSchema: ofValue(
      { $ref: "#a0" },
      {
        $schema: DRAFT_2020,
        $defs: named(
          41,
          (n) => ({ $anchor: `a${n}`, ...(n < 40 && { allOf: times(2, () => ({ $ref: `#a${n + 1}` })) }) }),
          "d",
        ),
      },
    ),
    args: { v: {} },
    isEndless: true,
  },
  {
    name: "recursion_twice_a_level",
    inputSchema: ofValue(
      { $ref: "#/definitions/t" },
      {
        definitions: { t: { properties: { a: { allOf: times(2, () => ({ $ref: "#/definitions/t" })) } } } },
      },
    ),
    args: { v: underA(25) },
    isEndless: true,
  },
  {
    name: "recursion_in_arrays",
    inputSchema: ofValue(
      { $ref: "#/definitions/t" },
      { definitions: { t: { items: { anyOf: times(3, () => ({ $ref: "#/definitions/t" })), minItems: 9 } } } },
    ),
    args: { v: nest(26, (inner) => [inner], []) },
    isEndless: true,
  },
  {
    name: "enum_of_20000",
    inputSchema: ofValue({ items: { enum: times(20_000, (n) => ({ n })) } }),
    args: { v: times(5_000, () => ({ n: 19_999 })) },
    isEndless: true,
  },
  {
    name: "large_constants",
    inputSchema: ofValue({ anyOf: times(500, (n) => ({ const: times(100, (m) => (m < 99 ? 0 : n)) })) }),
    args: { v: times(100, () => 0) },
  },
  {
    name: "nested_quantifiers",
    inputSchema: ofValue({ pattern: "^((a+)+b?)+$" }),
    args: { v: `${"a".repeat(2_000_000)}!` },
    isEndless: true,
  },
  {
    name: "counted_repetitions",
    inputSchema: ofValue({ allOf: times(400, (n) => ({ pattern: `^[\\p{L}${n}]{900}` })) }),
    args: { v: "é".repeat(3_000) },
    isEndless: true,
  },
  {
    name: "one_of_references",
    inputSchema: ofValue(
      { oneOf: times(1_500, () => ({ $ref: "#/definitions/t" })) },
      { definitions: { t: oneProperty(1) } },
    ),
    args: { v: { p0: 1 } },
  },
  {
    name: "tree_of_all_of",
    inputSchema: ofValue(nest(11, (inner) => ({ allOf: [inner, inner] })) as JsonObject),
    args: { v: {} },
  },
  { name: "nots", inputSchema: ofValue(nest(50, (not) => ({ not })) as JsonObject), args: { v: {} } },
  {
    name: "dependent_schemas",
    inputSchema: { $schema: DRAFT_2020, type: "object", dependentSchemas: named(1_000, oneProperty) },
    args: named(1_000, () => 0),
  },
  {
    name: "pattern_properties",
    inputSchema: { type: "object", patternProperties: named(300, () => ({ type: "number" }), "^.*k") },
    args: named(20_000, () => 0, "key"),
    isEndless: true,
  },
  {
    name: "property_names",
    inputSchema: ofValue({ allOf: times(5, (n) => ({ propertyNames: { pattern: `^([a-z]+[0-9]*)+(x{${n}})?$` } })) }),
    args: { v: named(90_000, () => 0, "abcdef") },
    isEndless: true,
  },
  {
    name: "unevaluated_properties",
    inputSchema: {
      $schema: DRAFT_2020,
      type: "object",
      anyOf: times(300, (n) => ({ properties: { [`p${n}`]: true } })),
      unevaluatedProperties: false,
    },
    args: named(5_000, () => 0),
  },
  {
    name: "contains",
    inputSchema: ofValue({ contains: { anyOf: times(200, (n) => ({ required: [`p${n}`], type: "object" })) } }),
    args: { v: times(90_000, () => ({})) },
    isEndless: true,
  },
  {
    name: "formats",
    inputSchema: ofValue({ allOf: times(100, () => ({ format: "date-time" })) }),
    args: { v: "t".repeat(1_000_000) },
  },
  {
    name: "lengths",
    inputSchema: ofValue({ allOf: times(300, () => ({ minLength: 5 })) }),
    args: { v: "x".repeat(3_000_000) },
    isEndless: true,
  },
  {
    name: "additional_properties",
    inputSchema: ofValue({ allOf: times(60, () => ({ additionalProperties: { type: "number" } })) }),
    args: { v: named(90_000, () => 0) },
  },
  {
    name: "nested_unique_items",
    inputSchema: ofValue(nest(20, (items) => ({ uniqueItems: true, items })) as JsonObject),
    args: {
      v: nest(
        18,
        (inner) => [inner],
        times(45_000, (n) => [n]),
      ),
    },
  },
  { name: "properties_2000", inputSchema: { type: "object", properties: named(2_000, oneProperty) }, args: { p0: {} } },
  {
    name: "chain_of_references",
    inputSchema: ofValue(
      { $ref: "#/definitions/d0" },
      { definitions: named(3_000, (n) => ({ $ref: `#/definitions/d${n + 1}` }), "d") },
    ),
    args: { v: {} },
  },
  {
    name: "much_memory",
    inputSchema: ofValue({ uniqueItems: true }),
    args: { v: times(90_000, () => ({})) },
  },
];
