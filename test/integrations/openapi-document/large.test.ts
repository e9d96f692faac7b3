import { setImmediate } from "node:timers/promises";
import { expect, test } from "vitest";
import { createDocumentConverter } from "../../../src/integrations/openapi-document/converter.ts";
import type { JsonObject } from "../../../src/json.ts";
import { documentOf } from "./support.ts";

const TEXT = { type: "string", description: "Some property of it, described at length.".repeat(5) };

function operation(name: string, schema: JsonObject): JsonObject {
  return {
    post: {
      operationId: name,
      requestBody: { content: { "application/json": { schema } } },
      responses: { "200": { description: "ok" } },
    },
  };
}

test("conversion of a large document yields between parts, and its tools share definitions", async () => {
  const thing: JsonObject = {
    type: "object",
    properties: Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`p${index}`, TEXT])),
  };
  const paths = Object.fromEntries(
    Array.from({ length: 300 }, (_, index) => [
      `/a${index}`,
      operation(`a${index}`, { type: "object", properties: { thing: { $ref: "#/components/schemas/Thing" } } }),
    ]),
  );
  const text = JSON.stringify(documentOf({ paths, components: { schemas: { Thing: thing } } }));
  let turns = 0;
  let isDone = false;
  const converting = createDocumentConverter()
    .convert("tenant", text)
    .finally(() => (isDone = true));
  while (!isDone) {
    await setImmediate();
    turns += 1;
  }
  const { operations } = await converting;
  expect(operations.map(({ tool }) => tool.name)).toHaveLength(300);
  expect(turns).toBeGreaterThan(5);
  const definitions = operations.map(({ tool }) => (tool.inputSchema["definitions"] as JsonObject)["Thing"]);
  expect(new Set(definitions).size).toBe(1);
});

test("rejects an operation larger than two megabytes and names it", async () => {
  const properties = Object.fromEntries(Array.from({ length: 12_000 }, (_, index) => [`p${index}`, TEXT]));
  const text = JSON.stringify(documentOf({}, { "/huge": operation("huge", { type: "object", properties }) }));
  await expect(createDocumentConverter().convert("tenant", text)).rejects.toThrow(
    "has an operation, huge, that is larger",
  );
});

test.each<[string, JsonObject]>([
  ["a server URL", { servers: [{ url: `https://example.com/${"/".repeat(80_000)}x` }] }],
  [
    "a default of its variables",
    { servers: [{ url: "https://example.com/{a}", variables: { a: { default: "/".repeat(80_000) } } }] },
  ],
])("rejects a document with %s of 80,000 slashes", async (_title, more) => {
  const text = JSON.stringify(documentOf(more));
  await expect(createDocumentConverter().convert("tenant", text)).rejects.toThrow("has a server URL of 80,0");
});
