import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { JsonObject } from "../../json.ts";
import { createCheckPool, type CheckPool } from "./check-pool.ts";
import { SchemaCheckRefused } from "./check-refused.ts";
import { compileSchema, type SchemaCheck } from "./compile-schema.ts";
import { measureSchema, type SchemaCost } from "./measure-schema.ts";
import { measureValue, type ValueSize } from "./measure-value.ts";

/** Maximum number of compiled schemas in memory; each takes some tens of kilobytes. */
const MAX_COMPILED = 500;
/** Compilation cost allowed on the main thread: at 100 µs per unit, 40 ms. */
const MAX_COMPILE_UNITS = 400;
/** Validation cost allowed on the main thread: at 100 ns per unit, 25 ms. */
const MAX_CHECK_UNITS = 250_000;

/** Validates values against untrusted JSON Schemas. */
export interface SchemaValidator {
  /**
   * Returns a sentence that names the property and the rule, or undefined when the value is valid. It quotes the
   * schema and property names, never a value, which may be a secret. Returns a promise when the check may be
   * expensive: a worker thread runs it then, one per tenant at a time. The promise rejects with SchemaCheckRefused.
   */
  validate(schema: JsonObject, value: unknown, tenant: string): string | undefined | Promise<string | undefined>;
  /** Validates synchronously against a schema of the service. Throws SchemaCheckRefused when the value is too large. */
  validateOwn(schema: JsonObject, value: unknown): string | undefined;
  close(): Promise<void>;
}

/** A schema and its measurements from first use. */
interface MeasuredSchema {
  readonly cost: SchemaCost;
  readonly digest: string;
  /** Undefined if it is too expensive to compile on the main thread. */
  readonly check: SchemaCheck | undefined;
}

/** Measures each schema on first use, compiles the cheap ones and caches recent ones. */
export function createSchemaValidator(options: { maxCompiled?: number; pool?: CheckPool } = {}): SchemaValidator {
  const max = options.maxCompiled ?? MAX_COMPILED;
  const pool = options.pool ?? createCheckPool();
  const byIdentity = new LRUCache<JsonObject, MeasuredSchema>(atMost(max));
  const byDigest = new LRUCache<string, MeasuredSchema>(atMost(max));

  function measured(schema: JsonObject): MeasuredSchema {
    const known = byIdentity.get(schema);
    if (known !== undefined) return known;
    // Equal schemas may be different objects; the digest avoids compiling them again, which takes milliseconds.
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
