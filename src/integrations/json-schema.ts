import { createHash } from "node:crypto";
import { Ajv, type AnySchemaObject, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import { isJsonObject, type JsonObject } from "../json.ts";
import { describeErrors } from "./json-schema-message.ts";
import { linearPattern } from "./linear-pattern.ts";

/** Compiled schemas kept; a compiled one weighs some tens of kilobytes. */
const MAX_COMPILED = 500;
/** References followed in one validation. A schema of a few lines can otherwise ask for 2^30 steps. */
const MAX_STEPS = 500_000;

type Check = (value: unknown) => string | undefined;

/** Checks values against JSON Schemas that may come from anyone. */
export interface SchemaValidator {
  /**
   * What is wrong with the value, as a sentence that names the property and the rule, or undefined when nothing is.
   * The sentence quotes the schema and property names, never a value, so it is safe for secrets.
   */
  validate(schema: JsonObject, value: unknown): string | undefined;
}

/**
 * A validator that compiles each schema on first use and keeps the recent ones.
 *
 * Draft 7 is the service's dialect; a `$schema` of 2019-09 or 2020-12 is honoured, since MCP servers send those. A schema
 * that cannot be compiled only asks for an object, so that a careless upstream does not make its tools unusable.
 */
export function createSchemaValidator(options: { maxCompiled?: number } = {}): SchemaValidator {
  const max = options.maxCompiled ?? MAX_COMPILED;
  const byIdentity = new LRUCache<JsonObject, Check>(atMost(max));
  const byDigest = new LRUCache<string, Check>(atMost(max));

  function checkFor(schema: JsonObject): Check {
    const known = byIdentity.get(schema);
    if (known !== undefined) return known;
    // The same schema read twice is two objects: the digest saves the compilation, which costs milliseconds.
    const digest = createHash("sha256").update(JSON.stringify(schema)).digest("base64");
    const check = byDigest.get(digest) ?? compile(schema);
    byDigest.set(digest, check);
    byIdentity.set(schema, check);
    return check;
  }

  return { validate: (schema, value) => checkFor(schema)(value) };
}

function compile(schema: JsonObject): Check {
  const budget = { steps: 0 };
  let validate: ValidateFunction;
  try {
    // One Ajv a schema: an Ajv keeps what it compiled for good, and `$id`s of strangers would meet in it.
    validate = createAjv(schema.$schema, budget).compile(withoutDialect(schema));
  } catch {
    return acceptObjects;
  }
  return (value) => {
    budget.steps = 0;
    try {
      return validate(value) ? undefined : describeErrors(validate.errors ?? []);
    } catch (error) {
      if (error instanceof TooManySteps) return "The value is too large to be checked against its schema.";
      // A schema that refers to itself without consuming anything overflows the stack: its fault, not the caller's.
      if (error instanceof RangeError) return acceptObjects(value);
      throw error;
    }
  };
}

function acceptObjects(value: unknown): string | undefined {
  return isJsonObject(value) ? undefined : "The value must be an object.";
}

class TooManySteps extends Error {}

const OPTIONS: Options = {
  strict: false,
  // A property called "constructor" is there only when the value holds it, not because every object inherits one.
  ownProperties: true,
  // Errors carry the schema they come from, so that a message can name all missing properties at once.
  verbose: true,
  logger: false,
  meta: false,
  validateSchema: false,
  addUsedSchema: false,
  unicodeRegExp: true,
  code: { regExp: Object.assign(linearPattern, { code: "linearPattern" }) },
};

function createAjv(dialect: unknown, budget: { steps: number }): AnyAjv {
  const ajv = newAjv(typeof dialect === "string" ? dialect : "");
  addFormats.default(ajv);
  // Ajv's own check compares every pair of items; this one is linear.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    validate: hasUniqueItems,
  });
  ajv.addKeyword({
    keyword: "x-step",
    before: "$ref",
    errors: false,
    validate: () => {
      budget.steps += 1;
      if (budget.steps > MAX_STEPS) throw new TooManySteps();
      return true;
    },
  });
  return ajv;
}

type AnyAjv = Ajv | Ajv2019 | Ajv2020;

function newAjv(dialect: string): AnyAjv {
  if (dialect.includes("2020-12")) return new Ajv2020(OPTIONS);
  if (dialect.includes("2019-09")) return new Ajv2019(OPTIONS);
  return new Ajv(OPTIONS);
}

function hasUniqueItems(wanted: boolean, items: readonly unknown[]): boolean {
  if (!wanted) return true;
  return new Set(items.map((item) => canonical(item))).size === items.length;
}

/** JSON text in which equal values are equal: keys sorted. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    isJsonObject(inner) ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1))) : inner,
  );
}

/** A copy for Ajv: `$schema` decided the dialect already, and every `$ref` counts its steps. */
function withoutDialect(schema: JsonObject): AnySchemaObject {
  const { $schema: _dialect, ...rest } = schema;
  return countReferences(rest);
}

function countReferences(schema: JsonObject): JsonObject {
  const copy: JsonObject = {};
  for (const [key, value] of Object.entries(schema)) {
    // What these hold are values or names to compare with, not schemas.
    const inside =
      key === "enum" || key === "const" || key === "default" || key === "examples" ? value : countInside(value);
    Object.defineProperty(copy, key, { value: inside, enumerable: true, writable: true, configurable: true });
  }
  if (typeof schema.$ref === "string") copy["x-step"] = true;
  return copy;
}

function countInside(value: JsonObject[string]): JsonObject[string] {
  if (Array.isArray(value)) return value.map((item) => countInside(item));
  return isJsonObject(value) ? countReferences(value) : value;
}
