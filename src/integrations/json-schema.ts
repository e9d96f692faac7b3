import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { atMost } from "../at-most.ts";
import type { JsonObject } from "../json.ts";
import { createCheckPool, type CheckPool } from "./schema-checks/check-pool.ts";
import { SchemaCheckRefused } from "./schema-checks/check-refused.ts";
import { compileSchema, type SchemaCheck } from "./schema-checks/compile-schema.ts";
import { measureSchema, type SchemaCost } from "./schema-checks/measure-schema.ts";
import { measureValue, type ValueSize } from "./schema-checks/measure-value.ts";

/** Schemas kept ready; a compiled one weighs some tens of kilobytes. */
const MAX_COMPILED = 500;
/** The most that is compiled on the main thread: at 100 µs a unit, 40 ms. */
const MAX_COMPILE_UNITS = 400;
/** The most that one check may cost on the main thread: at 100 ns a unit, 25 ms. */
const MAX_CHECK_UNITS = 250_000;

/** Checks values against JSON Schemas that may come from anyone. */
export interface SchemaValidator {
  /**
   * What is wrong with the value, as a sentence that names the property and the rule, or undefined when nothing is.
   * The sentence quotes the schema and property names, never a value, so it is safe for secrets.
   *
   * A promise when the check may be expensive: a worker thread makes it then, one per tenant at a time. It rejects with
   * SchemaCheckRefused.
   */
  validate(schema: JsonObject, value: unknown, tenant: string): string | undefined | Promise<string | undefined>;
  /** The same for a schema of our own, at once. Throws SchemaCheckRefused for a value that is too large for it. */
  validateOwn(schema: JsonObject, value: unknown): string | undefined;
  close(): Promise<void>;
}

/** A schema as it was first seen. */
interface MeasuredSchema {
  readonly cost: SchemaCost;
  readonly digest: string;
  /** Undefined where it is too expensive to compile on the main thread. */
  readonly check: SchemaCheck | undefined;
}

/** A validator that measures each schema on first use, compiles the cheap ones, and keeps the recent ones. */
export function createSchemaValidator(options: { maxCompiled?: number; pool?: CheckPool } = {}): SchemaValidator {
  const max = options.maxCompiled ?? MAX_COMPILED;
  const pool = options.pool ?? createCheckPool();
  const byIdentity = new LRUCache<JsonObject, MeasuredSchema>(atMost(max));
  const byDigest = new LRUCache<string, MeasuredSchema>(atMost(max));

  function measured(schema: JsonObject): MeasuredSchema {
    const known = byIdentity.get(schema);
    if (known !== undefined) return known;
    // The same schema read twice is two objects: the digest saves the compilation, which costs milliseconds.
    const digest = createHash("sha256").update(JSON.stringify(schema)).digest("base64");
    const entry = byDigest.get(digest) ?? measure(schema, digest);
    byDigest.set(digest, entry);
    byIdentity.set(schema, entry);
    return entry;
  }

  return {
    validate(schema, value, tenant) {
      const { check, cost, digest } = measured(schema);
      if (check !== undefined && isCheap(cost, value)) return check(value);
      const text = JSON.stringify(value);
      return pool.check({ tenant, digest, schema, text, valueSize: text.length });
    },
    validateOwn(schema, value) {
      const { check, cost } = measured(schema);
      if (check === undefined) throw new Error("a schema of the service is too expensive to compile");
      if (isCheap(cost, value)) return check(value);
      throw new SchemaCheckRefused("too_expensive", "The value is too large to be checked.");
    },
    close: () => pool.close(),
  };
}

function measure(schema: JsonObject, digest: string): MeasuredSchema {
  const cost = measureSchema(schema);
  return { cost, digest, check: cost.perPlace > MAX_COMPILE_UNITS ? undefined : compileSchema(schema) };
}

function isCheap({ perPlace, perCharacter, depth }: SchemaCost, value: unknown): boolean {
  const units = ({ places, characters }: ValueSize): number => places * perPlace + characters * perCharacter;
  return units(measureValue(value, depth, (size) => units(size) > MAX_CHECK_UNITS)) <= MAX_CHECK_UNITS;
}
