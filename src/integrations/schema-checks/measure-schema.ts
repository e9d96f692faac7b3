import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";

/**
 * An upper bound for the cost of checks against a schema. One unit is about 100 ns of validation, or 100 µs of
 * compilation. A check applies every node of the schema, with `$ref`s expanded, at most once per node of the value.
 */
export interface SchemaCost {
  /** Units for compilation, and units per node of the value. Infinity if unbounded. */
  readonly perPlace: number;
  /** Units per character of the value. */
  readonly perCharacter: number;
  /** How many levels of a value the schema inspects; 0 is only the value itself. */
  readonly depth: number;
}

/** Maximum depth of a measured schema; compilation is recursive too. */
const MAX_DEPTH = 100;
const UNBOUNDED: SchemaCost = { perPlace: Infinity, perCharacter: Infinity, depth: Infinity };

/** Keywords that do not affect a check. Definitions are counted where they are referenced. */
const IGNORED = new Set(["title", "description", "default", "examples", "example", "$comment", "$defs", "definitions"]);
/** Keywords with a schema, or an array of schemas, for the same node. */
const HERE = new Set(["allOf", "anyOf", "oneOf", "not", "if", "then", "else"]);
/** Keywords with schemas for nodes one level down. `propertyNames` checks the keys there. */
const BELOW = new Set([
  ...["items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"],
  ...["additionalProperties", "unevaluatedProperties", "propertyNames"],
]);
/** Keywords that name schemas by property, and whether they apply one level down. */
const NAMED = new Map([
  ["properties", true],
  ["patternProperties", true],
  ["dependencies", false],
  ["dependentSchemas", false],
]);
/** Keywords whose expansion depends on the path of a check. */
const DYNAMIC = new Set(["$dynamicRef", "$recursiveRef"]);

/** Measures a schema in time linear in its size: the target of a `$ref` is measured once. */
export function measureSchema(root: JsonObject): SchemaCost {
  const known = new Map<JsonValue, SchemaCost>();
  const open = new Set<JsonValue>();

  function measure(schema: JsonValue, level: number): SchemaCost {
    if (!isJsonObject(schema)) return { perPlace: sizeOf(schema), perCharacter: 0, depth: 0 };
    const before = known.get(schema);
    if (before !== undefined) return before;
    if (open.has(schema) || level > MAX_DEPTH) return UNBOUNDED;
    open.add(schema);
    let cost: SchemaCost = { perPlace: 1, perCharacter: 0, depth: 0 };
    for (const [keyword, value] of Object.entries(schema)) {
      cost = sum(cost, measureKeyword(schema, keyword, value, level));
      // The result is known already, and the rest may be large.
      if (cost.perPlace === Infinity) break;
    }
    open.delete(schema);
    known.set(schema, cost);
    return cost;
  }

  function measureKeyword(schema: JsonObject, keyword: string, value: JsonValue, level: number): SchemaCost {
    if (IGNORED.has(keyword)) return { perPlace: 0, perCharacter: 0, depth: 0 };
    if (HERE.has(keyword) || BELOW.has(keyword)) return measureAll(value, BELOW.has(keyword), level);
    const isBelow = NAMED.get(keyword);
    if (isBelow !== undefined && isJsonObject(value)) {
      const patterns = keyword === "patternProperties" ? Object.keys(value).map(measurePattern) : [];
      return [...patterns, measureAll(Object.values(value), isBelow, level)].reduce(sum);
    }
    // A nested `$id` changes the base of references.
    if (DYNAMIC.has(keyword) || (keyword === "$id" && schema !== root)) return UNBOUNDED;
    if (keyword === "$ref" && typeof value === "string") {
      const target = pointedAt(root, value);
      return target === undefined ? UNBOUNDED : measure(target, level + 1);
    }
    return measureRule(keyword, value);
  }

  function measureAll(schemas: JsonValue, isBelow: boolean, level: number): SchemaCost {
    let all: SchemaCost = { perPlace: 1, perCharacter: 0, depth: 0 };
    for (const each of Array.isArray(schemas) ? schemas : [schemas]) {
      all = sum(all, measure(each, level + 1));
      if (all.perPlace === Infinity) return UNBOUNDED;
    }
    return isBelow ? { ...all, depth: all.depth + 1 } : all;
  }

  return measure(root, 0);
}

function sum(a: SchemaCost, b: SchemaCost): SchemaCost {
  return {
    perPlace: a.perPlace + b.perPlace,
    perCharacter: a.perCharacter + b.perCharacter,
    depth: Math.max(a.depth, b.depth),
  };
}

/** A rule without a nested schema. */
function measureRule(keyword: string, value: JsonValue): SchemaCost {
  switch (keyword) {
    case "pattern":
      return measurePattern(typeof value === "string" ? value : "");
    case "format":
      return { perPlace: 1, perCharacter: 0.1, depth: 0 };
    case "minLength":
    case "maxLength":
      return { perPlace: 1, perCharacter: 0.02, depth: 0 };
    case "minProperties":
    case "maxProperties":
      return { perPlace: 1, perCharacter: 0, depth: 1 };
    case "uniqueItems":
      // Compares whole items as text.
      return { perPlace: 6, perCharacter: 0.1, depth: value === true ? Infinity : 0 };
    case "enum":
    case "const":
      return { perPlace: sizeOf(value), perCharacter: 0, depth: 0 };
    default:
      return { perPlace: sizeOf(value), perCharacter: 0, depth: 0 };
  }
}

/** RE2 runs its program for each character; a counted repetition copies it. */
function measurePattern(source: string): SchemaCost {
  let copies = 1;
  for (const [, least = "", most = ""] of source.matchAll(/\{(\d{1,4})(?:,(\d{0,4}))?\}/g))
    copies = Math.min(1_000, copies * Math.max(1, Number(least), Number(most)));
  const size = Math.max(8, source.length) * copies;
  return { perPlace: 4 + size / 50, perCharacter: size / 16, depth: 0 };
}

/** The number of nodes in JSON; long strings count more. */
function sizeOf(value: JsonValue): number {
  let size = 0;
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    size += typeof next === "string" ? 1 + next.length / 100 : 1;
    if (Array.isArray(next)) for (const item of next) open.push(item);
    else if (isJsonObject(next)) for (const item of Object.values(next)) open.push(item);
  }
  return size;
}

/** Resolves a reference within the same schema. Returns undefined for other references. */
function pointedAt(root: JsonObject, reference: string): JsonValue | undefined {
  if (reference === "#") return root;
  if (!reference.startsWith("#/")) return undefined;
  let at: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const key = decoded(step);
    if (key === undefined) return undefined;
    if (Array.isArray(at)) at = at[Number(key)];
    else at = isJsonObject(at) && Object.hasOwn(at, key) ? at[key] : undefined;
  }
  return at;
}

function decoded(step: string): string | undefined {
  try {
    return decodeURIComponent(step).replaceAll("~1", "/").replaceAll("~0", "~");
  } catch {
    return undefined;
  }
}
