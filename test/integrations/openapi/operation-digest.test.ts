import { expect, test } from "vitest";
import type { JsonObject } from "../../../src/json.ts";
import { parseOpenApi } from "../../../src/integrations/openapi/model/document.ts";
import { operationsOf } from "../../../src/integrations/openapi/operations.ts";

const ORDER = { type: "object", properties: { item: { $ref: "#/components/schemas/Item" }, at: { type: "string" } } };

interface Variation {
  readonly path?: string;
  readonly operation?: JsonObject;
  readonly item?: JsonObject;
  readonly root?: JsonObject;
}

/** The digest of one operation of a modified document. */
function digestOf({ path = "/orders", operation = {}, item = {}, root = {} }: Variation): string | undefined {
  const document: JsonObject = {
    openapi: "3.1.0",
    info: { title: "Acme", version: "1" },
    servers: [{ url: "https://acme.example/v1" }],
    components: {
      schemas: { Order: ORDER, Item: { type: "object", properties: { name: { type: "string" } }, ...item } },
    },
    paths: {
      [path]: {
        post: {
          operationId: "add_order",
          summary: "Add an order",
          requestBody: {
            content: { "application/json": { schema: { $ref: "#/components/schemas/Order" }, example: {} } },
          },
          responses: { "200": { description: "ok" }, "404": { description: "none" } },
          ...operation,
        },
      },
      "/other": { get: { operationId: "look" } },
    },
    ...root,
  };
  const [first] = operationsOf(parseOpenApi(JSON.stringify(document)), {
    category: undefined,
    credentialProperty: "api_token",
    isUntrusted: true,
  });
  return first?.tool.digest;
}

const BASE = digestOf({});

test.each<[string, Variation]>([
  ["its path", { path: "/other-orders" }],
  ["its summary", { operation: { summary: "Add two" } }],
  ["a schema that a referenced schema refers to", { item: { description: "An item." } }],
  ["a parameter", { operation: { parameters: [{ name: "dry", in: "query", schema: { type: "boolean" } }] } }],
  ["the server", { root: { servers: [{ url: "https://evil.example/v1" }] } }],
  ["the security requirement", { root: { security: [{ key: [] }] } }],
  [
    "the schema of the answer",
    { operation: { responses: { "200": { content: { "application/json": { schema: ORDER } } } } } },
  ],
  ["a mark", { operation: { "x-patchbay-read-only": true } }],
])("changes the digest of an operation when %s changes", (_what, variation) => {
  expect(digestOf(variation)).not.toBe(BASE);
});

test.each<[string, Variation]>([
  ["examples", { operation: { ...bodyWith({ example: { item: {} } }) } }],
  ["the schemas of errors", { operation: { responses: { "200": { description: "fine" }, "500": {} } } }],
  ["the order of keys", { root: { paths: { "/orders": { post: reversed() } } } }],
  ["another operation", { root: { tags: [{ name: "orders" }] } }],
])("keeps the digest of an operation when %s changes", (_what, variation) => {
  expect(digestOf(variation)).toBe(BASE);
});

function bodyWith(more: JsonObject): JsonObject {
  const schema = { $ref: "#/components/schemas/Order" };
  return { requestBody: { content: { "application/json": { schema, ...more } } } };
}

function reversed(): JsonObject {
  return {
    responses: { "404": { description: "none" }, "200": { description: "ok" } },
    ...bodyWith({}),
    summary: "Add an order",
    operationId: "add_order",
  };
}

test("computes no digests for a contract of the service, which changes only with a release", () => {
  const text = JSON.stringify({ openapi: "3.1.0", info: {}, paths: { "/a": { get: { operationId: "a" } } } });
  const [operation] = operationsOf(parseOpenApi(text), { category: undefined, credentialProperty: undefined });
  expect(operation?.tool).not.toHaveProperty("digest");
});
