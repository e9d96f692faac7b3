import { afterAll, expect, test } from "vitest";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";
import { createCheckPool } from "../../src/integrations/schema-checks/check-pool.ts";
import { LINEAR_FORMATS } from "../../src/integrations/schema-checks/formats.ts";
import { measureSchema } from "../../src/integrations/schema-checks/measure-schema.ts";
import { measureValue } from "../../src/integrations/schema-checks/measure-value.ts";
import { createTenantQueue } from "../../src/integrations/schema-checks/tenant-queue.ts";
import type { JsonObject } from "../../src/json.ts";

/** A schema that takes 2^40 steps for any value. */
const ENDLESS: JsonObject = {
  type: "object",
  definitions: Object.fromEntries(
    Array.from({ length: 40 }, (_, level): [string, JsonObject] => {
      const next = { $ref: `#/definitions/d${level + 1}` };
      return [`d${level}`, { allOf: [next, next] }];
    }).concat([["d40", {}]]),
  ),
  $ref: "#/definitions/d0",
};
const ORDINARY: JsonObject = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };
/** A schema that is cheap to check but has no known upper bound. */
const RECURSIVE: JsonObject = { type: "object", properties: { child: { $ref: "#" }, name: { type: "string" } } };

const validator = createSchemaValidator();
afterAll(() => validator.close());

test("checks an ordinary schema synchronously, without a promise", () => {
  expect(validator.validate(ORDINARY, { text: "a" }, "acc_1")).toBeUndefined();
  expect(validator.validate(ORDINARY, {}, "acc_1")).toBe('The required property "text" is missing.');
});

test("a worker thread returns the same message as the main thread", async () => {
  const large = { text: 7, rest: Array.from({ length: 300_000 }, () => 0) };
  const schema = { ...ORDINARY, additionalProperties: { type: "array", items: { type: "number" } } };
  const inThread = validator.validate(schema, large, "acc_1");
  expect(inThread).toBeInstanceOf(Promise);
  expect(await inThread).toBe(validator.validate(schema, { text: 7 }, "acc_1"));
  expect(await validator.validate(RECURSIVE, { child: { child: { name: 1 } } }, "acc_1")).toBe(
    'Property "child.child.name" must be a string, not a number.',
  );
});

test("refuses a check that exceeded its limit again without running it, only for its tenant", async () => {
  const pool = createCheckPool({ cpuMs: 100, startsPerMinute: 2 });
  const check = (tenant: string) =>
    pool.check({ tenant, digest: "endless", schema: ENDLESS, text: "{}", valueSize: 1 });
  await expect(check("loud")).rejects.toMatchObject({ kind: "too_expensive" });
  await expect(check("loud")).rejects.toMatchObject({ kind: "too_expensive" });
  await expect(check("other")).rejects.toMatchObject({ kind: "too_expensive" });
  // Two thread starts are allowed. The third check shows that the second one did not run.
  await expect(check("third")).rejects.toMatchObject({ kind: "busy" });
  await pool.close();
});

test("rejects a value at least as large as one that exceeded the limit, and checks a smaller one", async () => {
  const pool = createCheckPool({ cpuMs: 400 });
  const schema: JsonObject = { type: "array", items: { allOf: Array(100).fill({ type: "array", uniqueItems: true }) } };
  const check = (items: number) => {
    const value = Array.from({ length: items }, () => Array.from({ length: 300 }, (_, index) => [index]));
    return pool.check({ tenant: "a", digest: "sets", schema, text: JSON.stringify(value), valueSize: items });
  };
  await expect(check(1)).resolves.toBeUndefined();
  await expect(check(200)).rejects.toMatchObject({ kind: "too_expensive" });
  await expect(check(201)).rejects.toMatchObject({ kind: "too_expensive" });
  await expect(check(1)).resolves.toBeUndefined();
  await pool.close();
});

test("makes a tenant wait a minute after repeated overruns, but no other tenant", async () => {
  const pool = createCheckPool({ cpuMs: 100 });
  const check = (tenant: string, digest: string, schema: JsonObject) =>
    pool.check({ tenant, digest, schema, text: "{}", valueSize: 1 });
  for (const digest of ["a", "b", "c", "d", "e"])
    await expect(check("loud", digest, ENDLESS)).rejects.toMatchObject({ kind: "too_expensive" });
  await expect(check("loud", "fine", RECURSIVE)).rejects.toMatchObject({ kind: "busy" });
  await expect(check("quiet", "fine", RECURSIVE)).resolves.toBeUndefined();
  await pool.close();
});

test("rejects a check that exhausts a thread's memory, and runs the next check in a new thread", async () => {
  const pool = createCheckPool({ cpuMs: 10_000, maxHeapMb: 24, threads: 1 });
  const schema: JsonObject = { type: "array", uniqueItems: true };
  const value = Array.from({ length: 300_000 }, (_, index) => [`${index}`]);
  const large = pool.check({ tenant: "a", digest: "large", schema, text: JSON.stringify(value), valueSize: 1 });
  await expect(large).rejects.toMatchObject({ kind: "too_expensive" });
  const small = pool.check({ tenant: "b", digest: "large", schema, text: "[1, 1]", valueSize: 1 });
  await expect(small).resolves.toContain("same item twice");
  await pool.close();
});

test("serves tenants in turn, with one check in progress each", () => {
  const queue = createTenantQueue<number>({ perTenant: 3, total: 5 });
  expect([1, 2, 3, 4].map((item) => queue.add("loud", item))).toEqual([true, true, true, false]);
  expect([5, 6].map((item) => queue.add("quiet", item))).toEqual([true, true]);
  expect(queue.add("late", 7)).toBe(false);
  expect([queue.take()?.item, queue.take()?.item, queue.take()]).toEqual([1, 5, undefined]);
  queue.finish("loud");
  queue.finish("quiet");
  expect([queue.take()?.item, queue.take()?.item]).toEqual([2, 6]);
  queue.finish("loud");
  expect([queue.take()?.item, queue.isReady()]).toEqual([3, false]);
});

test.each<[string, JsonObject]>([
  ["expansions that double", ENDLESS],
  ["a recursive reference", RECURSIVE],
  ["a dynamic reference", { $dynamicAnchor: "r", properties: { a: { $dynamicRef: "#r" } } }],
  ["a recursive reference of 2019-09", { $recursiveAnchor: true, properties: { a: { $recursiveRef: "#" } } }],
  ["an $id inside", { properties: { a: { $id: "https://example.com/a", type: "string" } } }],
  ["a reference to another document", { $ref: "https://example.com/schema.json" }],
  ["deep nesting", nested(200)],
])("the cost of %s is unbounded or exceeds every limit", (_title, schema) => {
  expect(measureSchema(schema).perPlace).toBeGreaterThan(1_000_000);
});

test("counts a referenced schema for each reference, and descriptions not at all", () => {
  const pair: JsonObject = { type: "object", properties: { x: { type: "number" }, y: { type: "number" } } };
  const once = measureSchema({ definitions: { pair }, properties: { a: { $ref: "#/definitions/pair" } } });
  const twice = measureSchema({
    definitions: { pair },
    properties: { a: { $ref: "#/definitions/pair" }, b: { $ref: "#/definitions/pair" } },
  });
  expect(twice.perPlace - once.perPlace).toBeCloseTo(once.perPlace - measureSchema({ properties: {} }).perPlace);
  expect(measureSchema({ ...pair, description: "x".repeat(100_000) })).toEqual(measureSchema(pair));
  expect(measureSchema(pair).depth).toBe(1);
});

test("measures a property named like a keyword as a property", () => {
  const plain = measureSchema({ properties: { a: { type: "string", pattern: "^a+$" } } });
  for (const name of ["description", "default", "$ref", "uniqueItems", "definitions"])
    expect(measureSchema({ properties: { [name]: { type: "string", pattern: "^a+$" } } })).toEqual(plain);
});

test("measures a value down to the depth that the schema inspects", () => {
  const value = { a: "xyz", b: { c: [1, 2, 3] } };
  expect(measureValue(value, 0, () => false)).toEqual({ places: 1, characters: 0 });
  expect(measureValue(value, 1, () => false)).toEqual({ places: 3, characters: 5 });
  expect(measureValue(value, Infinity, () => false)).toEqual({ places: 7, characters: 6 });
});

test.each<[text: string, isUrl: boolean]>([
  ["http://example.com", true],
  ["https://user:pass@example.com:8080/path?q=a@b#c", true],
  ["ftp://foo.bar/baz", true],
  ["http://142.42.1.1/", true],
  ["http://a@b@example.com", true],
  ["http://127.0.0.1", false],
  ["http://10.1.1.1", false],
  ["http://example", false],
  ["http://-a.com", false],
  ["http:// example.com", false],
  ["http://example.com/a b", false],
  [`http://${":".repeat(80_000)}`, false],
  [`http://${"a@a.aa/".repeat(80_000)} `, false],
])("the format url accepts %s like ajv-formats, in linear time", (text, isUrl) => {
  const { url } = LINEAR_FORMATS;
  expect(typeof url === "function" && url(text)).toBe(isUrl);
});

function nested(levels: number): JsonObject {
  let schema: JsonObject = {};
  for (let level = 0; level < levels; level += 1) schema = { properties: { a: schema } };
  return schema;
}
