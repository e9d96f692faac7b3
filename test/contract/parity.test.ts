import { describe, expect, test } from "vitest";
import { listOperations, readDocument } from "./document.ts";
import { edited } from "./edit.ts";
import { HTTP_ONLY, REQUIRED_ELSEWHERE, findDifferences } from "./parity.ts";
import { readServiceNames, services } from "./proto-surface.ts";

const document = await readDocument();

test("proto and OpenAPI contain the same contract", () => {
  expect(findDifferences(document)).toEqual([]);
});

test("compares every service", () => {
  expect(services.map(({ typeName }) => typeName).sort()).toEqual(readServiceNames());
});

test("every exception still applies to something", () => {
  const operationIds = listOperations(document).map(({ operation }) => operation.operationId);
  for (const operationId of Object.keys(HTTP_ONLY)) expect(operationIds).toContain(operationId);
  for (const key of Object.keys(REQUIRED_ELSEWHERE)) {
    const message = key.split(".")[0] ?? "";
    expect(Object.keys(document.components.schemas)).toContain(message.replace(/Response$/, "Result"));
  }
});

const list = ["paths", "/api/v1/mcp-servers"];
const one = ["paths", "/api/v1/mcp-servers/{server_id}"];
const property = (schema: string, name: string) => ["components", "schemas", schema, "properties", name];

type Mutation = [title: string, place: (string | number)[], value: unknown, difference: RegExp];

const mutations: Mutation[] = [
  ["a missing path", ["paths", "/api/v1/mcp-servers/{server_id}/tools"], undefined, /tools: not in OpenAPI/],
  ["a missing method", [...one, "put"], undefined, /PUT .*: not in OpenAPI/],
  [
    "an operation without an RPC",
    [...list, "patch"],
    { operationId: "more", security: [], responses: {} },
    /PATCH .*: not in proto/,
  ],
  ["a missing field", property("Connection", "agent_enabled"), undefined, /fields is .*"agent_enabled".* in proto/],
  ["an additional field", property("Connection", "color"), { type: "string" }, /fields is .*"color".* in OpenAPI/],
  [
    "a different type",
    [...property("ConnectionDetails", "connection_id"), "type"],
    "integer",
    /connection_id: type is "string" in proto, "integer" in OpenAPI/,
  ],
  [
    "a different type inside a list",
    [...property("Connection", "disabled_tools"), "items", "type"],
    "string",
    /disabled_tools: type is "integer" in proto, "string" in OpenAPI/,
  ],
  [
    "a time that is not marked as one",
    [...property("Connection", "created_at"), "format"],
    undefined,
    /created_at: format is "date-time" in proto, absent in OpenAPI/,
  ],
  ["a wider number", [...property("Tool", "id"), "format"], "int64", /id: format is "int32" in proto, "int64"/],
  [
    "a request field that became required",
    ["components", "schemas", "CreateConnectionRequest", "required"],
    ["server_type", "name"],
    /body\.name: required is false in proto, true in OpenAPI/,
  ],
  [
    "a response field that became optional",
    ["components", "schemas", "Tool", "required", 0],
    "id",
    /name: required is true in proto, false in OpenAPI/,
  ],
  [
    "a parameter that became required",
    ["components", "parameters", "Limit", "required"],
    true,
    /limit: required is false/,
  ],
  [
    "a missing enum value",
    [...property("UpdateConnectionRequest", "access_type"), "enum"],
    ["read", "write"],
    /access_type: enum is .*"individual".* in proto/,
  ],
  [
    "a missing enum",
    [...property("ConnectionDetails", "status"), "enum"],
    undefined,
    /status: enum is .* absent in OpenAPI/,
  ],
  [
    "a different scope",
    [...one, "delete", "security", 0],
    { oauth2: ["mgmt.read"] },
    /DELETE .*: scope \(oauth2\) is \["mgmt.write"\] in proto, \["mgmt.read"\]/,
  ],
  ["a missing scope", [...list, "get", "security"], [], /GET .*: scope \(bearer\)/],
  [
    "a different success status",
    [...list, "post", "responses", "200"],
    {},
    /success status is \["201"\] in proto, \["200","201"\]/,
  ],
  [
    "a management body that accepts unknown fields",
    ["components", "schemas", "CreateConnectionRequest", "additionalProperties"],
    undefined,
    /unknown fields is false in proto, true in OpenAPI/,
  ],
  [
    "a runtime body that rejects unknown fields",
    ["components", "schemas", "CallToolRequest", "additionalProperties"],
    false,
    /unknown fields is true in proto, false in OpenAPI/,
  ],
  [
    "a missing query parameter",
    [...list, "get", "parameters"],
    [],
    /query parameters is \["limit","offset","view"\] in proto, \[\]/,
  ],
  [
    "a different maxLength",
    [...property("CreateConnectionRequest", "description"), "maxLength"],
    4000,
    /body\.description: limits is \{"maxLength":2000\} in proto, \{"maxLength":4000\}/,
  ],
  [
    "a limit that only the text states",
    [...property("UpdateConnectionRequest", "api_key"), "maxLength"],
    undefined,
    /body\.api_key: limits is \{"minLength":1,"maxLength":4096\} in proto, \{"minLength":1\}/,
  ],
  [
    "a different range",
    ["components", "parameters", "Limit", "schema", "maximum"],
    1000,
    /limit: limits is \{"minimum":1,"maximum":500\} in proto, \{"minimum":1,"maximum":1000\}/,
  ],
  [
    "a different maxItems",
    [...property("CreateOAuthClientRequest", "redirect_uris"), "maxItems"],
    10,
    /redirect_uris: limits is \{"maxItems":20\} in proto, \{"maxItems":10\}/,
  ],
  [
    "a different number in the text",
    ["components", "parameters", "Limit", "description"],
    "How many to return. Left out means 50.",
    /limit: numbers are \[1,100,500\] in proto, \[50\] in OpenAPI/,
  ],
  [
    "an optional field that rejects null",
    [...property("UpdateConnectionRequest", "agent_enabled"), "type"],
    "boolean",
    /body\.agent_enabled: null is true in proto, false in OpenAPI/,
  ],
  [
    "a response field that accepts null",
    [...property("Tool", "enabled"), "type"],
    ["boolean", "null"],
    /enabled: null is false in proto, true in OpenAPI/,
  ],
  [
    "a secret that is not marked",
    [...property("UpdateConnectionRequest", "api_key"), "writeOnly"],
    undefined,
    /api_key: secret is true in proto, false in OpenAPI/,
  ],
  [
    "a different text for a missing scope",
    [...one, "put", "responses", "403"],
    { $ref: "#/components/responses/ForbiddenToView" },
    /no 403 example with the text «You do not have permission to update this connection\.»/,
  ],
];

describe("the comparison detects a difference for", () => {
  test.each(mutations)("%s", (_title, place, value, difference) => {
    expect(findDifferences(edited(document, place, value)).join("\n")).toMatch(difference);
  });
});
