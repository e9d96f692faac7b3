import { expect, test } from "vitest";
import { listOperations, type Parameter, readDocument, type Schema } from "./document.ts";

// Constructs that client generators reject, or convert to code that does not compile.
const document = await readDocument();
const operations = listOperations(document);

/** The schemas in the document with their places. Those of upstream tools, in examples, are not ours. */
function* schemasIn(value: unknown, place: string): Generator<readonly [place: string, schema: Schema]> {
  if (typeof value !== "object" || value === null) return;
  if (!Array.isArray(value) && ["type", "properties", "$ref", "oneOf"].some((key) => key in value))
    yield [place, value];
  for (const [key, part] of Object.entries(value)) {
    if (!/^examples?$/.test(key)) yield* schemasIn(part, `${place}/${key}`);
  }
}

const schemas = [...schemasIn(document, "")];

const PYTHON_KEYWORDS = new Set(
  "False None True and as assert async await break class continue def del elif else except finally for from global if import in is lambda nonlocal not or pass raise return try while with yield".split(
    " ",
  ),
);

test("no schema has the type null alone, except as an alternative", () => {
  const found = schemas.filter(([place, { type }]) => type === "null" && !/\/(?:oneOf|else)\//.test(place));
  expect(found.map(([place]) => place)).toEqual([]);
});

test("no boolean has a constant value", () => {
  expect(schemas.filter(([, schema]) => typeof schema.const === "boolean").map(([place]) => place)).toEqual([]);
});

test("no name that generators derive from an operation is the name of a schema", () => {
  const derived = operations.flatMap(({ operation: { operationId } }) => {
    const name = operationId.charAt(0).toUpperCase() + operationId.slice(1);
    return ["Response", "Params", "JSONBody", "JSONRequestBody"].map((suffix) => name + suffix);
  });
  expect(derived.filter((name) => name in document.components.schemas)).toEqual([]);
});

test("no schema has the name of a type of common languages", () => {
  const taken = ["Error", "Object", "String", "Number", "Boolean", "Map", "Set", "List", "Date", "Exception"];
  expect(taken.filter((name) => name in document.components.schemas)).toEqual([]);
});

test("no parameter or property is a keyword of Python", () => {
  const parameters = operations.flatMap(({ parameters: all }) => all.map(({ name }: Parameter) => name));
  const properties = schemas.flatMap(([, schema]) => Object.keys(schema.properties ?? {}));
  expect([...parameters, ...properties].filter((name) => PYTHON_KEYWORDS.has(name))).toEqual([]);
});

test("the shapes of a response differ in their required properties", () => {
  const shapes = schemas.filter(([, { oneOf }]) => oneOf?.every(({ $ref }) => $ref !== undefined) === true);
  expect(shapes.length).toBeGreaterThan(0);
  for (const [place, { oneOf = [] }] of shapes) {
    const names = oneOf.map(({ $ref = "" }) => $ref.split("/").at(-1) ?? "");
    const required = names.flatMap((name) => document.components.schemas[name]?.required ?? []);
    expect({ place, required: new Set(required).size }).toEqual({ place, required: required.length });
  }
});
