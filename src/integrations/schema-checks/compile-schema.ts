import { Ajv, type Options, type ValidateFunction } from "ajv";
import { Ajv2019 } from "ajv/dist/2019.js";
import { Ajv2020 } from "ajv/dist/2020.js";
import { isJsonObject, printInKeyOrder, type JsonObject, type JsonValue } from "../../json.ts";
import { describeErrors } from "./json-schema-message.ts";
import { linearPattern } from "./linear-pattern.ts";
import { LINEAR_FORMATS } from "./formats.ts";

/** Returns what is wrong with a value as a sentence, or undefined. */
export type SchemaCheck = (value: unknown) => string | undefined;

const OPTIONS: Options = {
  strict: false,
  // Ignores inherited properties such as "constructor".
  ownProperties: true,
  // Errors include their schema, so that a message can name all missing properties.
  verbose: true,
  logger: false,
  meta: false,
  validateSchema: false,
  unicodeRegExp: true,
  formats: LINEAR_FORMATS,
  code: { regExp: Object.assign(linearPattern, { code: "linearPattern" }) },
};

/**
 * Compiles a schema. The main thread and the worker threads use this function, so that both answer the same.
 *
 * Draft 7 is the service's dialect; a `$schema` of 2019-09 or 2020-12 is honored, since MCP servers send those. A
 * schema that cannot be compiled accepts any object, so that a careless upstream does not make its tools unusable.
 */
export function compileSchema({ $schema: dialect, ...schema }: JsonObject): SchemaCheck {
  let validate: ValidateFunction;
  try {
    validate = createAjv(dialect).compile(schema);
  } catch {
    return acceptObjects;
  }
  return (value) => {
    let isValid: boolean;
    try {
      isValid = validate(value);
    } catch (error) {
      // A schema that refers to itself without descending overflows the stack, which is a fault of the schema and not
      // of the caller.
      if (error instanceof RangeError) return acceptObjects(value);
      throw error;
    }
    return isValid ? undefined : describeErrors(validate.errors ?? []);
  };
}

function acceptObjects(value: unknown): string | undefined {
  return isJsonObject(value)
    ? undefined
    : "A schema that refers to itself without descending overflows the stack. That is an error of the schema, not of the caller.";
}

/** One Ajv per schema, because an Ajv caches compiled schemas and `$id`s of different upstreams would collide. */
function createAjv(dialect: unknown): Ajv | Ajv2019 | Ajv2020 {
  const ajv = newAjv(typeof dialect === "string" ? dialect : "");
  // Ajv's own check compares every pair of items; this one is linear.
  ajv.removeKeyword("uniqueItems");
  ajv.addKeyword({
    keyword: "uniqueItems",
    type: "array",
    schemaType: "boolean",
    errors: false,
    validate: hasUniqueItems,
  });
  return ajv;
}

function newAjv(dialect: string): Ajv | Ajv2019 | Ajv2020 {
  if (dialect.includes("2020-12")) return new Ajv2020(OPTIONS);
  if (dialect.includes("2019-09")) return new Ajv2019(OPTIONS);
  return new Ajv(OPTIONS);
}

function hasUniqueItems(wanted: boolean, items: readonly JsonValue[]): boolean {
  if (!wanted) return true;
  return new Set(items.map((item) => printInKeyOrder(item))).size === items.length;
}
