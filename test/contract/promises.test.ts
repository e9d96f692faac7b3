import { describe, expect, test } from "vitest";
import { readDocument } from "./document.ts";
import { edited } from "./edit.ts";
import { listPromises, lostPromises } from "./promises.ts";

const document = await readDocument();
const baseline = listPromises(document);
const list = ["paths", "/api/v1/mcp-servers"];
const schema = (name: string) => ["components", "schemas", name];

type Change = [title: string, place: (string | number)[], value: unknown];

describe("a breaking change is detected when", () => {
  const breaking: Change[] = [
    ["a path is removed", ["paths", "/mcp/tools/call"], undefined],
    ["a method is removed", [...list, "post"], undefined],
    ["a response is removed", [...list, "post", "responses", "201"], undefined],
    ["a response header is removed", [...list, "post", "responses", "201", "headers", "Location"], undefined],
    ["a parameter is removed", [...list, "get", "parameters"], []],
    ["an operation requires another scope", [...list, "get", "security"], [{ bearer: ["mgmt.admin"] }]],
    ["a response field is removed", [...schema("Connection"), "properties", "created_at"], undefined],
    ["a response field becomes optional", [...schema("CreateConnectionResult"), "required"], ["server_id"]],
    ["a field changes its type", [...schema("Connection"), "properties", "id", "type"], "string"],
    [
      "a request enum loses a value",
      [...schema("UpdateConnectionRequest"), "properties", "access_type", "enum"],
      ["read"],
    ],
    ["a response enum gains a value", [...schema("ConnectionDetails"), "properties", "status", "enum", 3], "paused"],
    ["a request field becomes required", [...schema("CreateConnectionRequest"), "required"], ["server_type", "name"]],
    [
      "a request body no longer accepts unknown fields",
      [...schema("InitializeRequest"), "additionalProperties"],
      false,
    ],
    ["a request body becomes required", ["paths", "/mcp/tools/list", "post", "requestBody", "required"], true],
    ["a limit changes", ["components", "parameters", "Limit", "schema", "maximum"], 100],
  ];
  test.each(breaking)("%s", (_title, place, value) => {
    expect(lostPromises(baseline, listPromises(edited(document, place, value)))).not.toEqual([]);
  });
});

describe("no breaking change is reported for", () => {
  const growth: Change[] = [
    ["a new method", [...list, "patch"], { operationId: "more", security: [], responses: {} }],
    ["a new response field", [...schema("Connection"), "properties", "color"], { type: "string" }],
    ["a new optional request field", [...schema("CreateConnectionRequest"), "properties", "color"], { type: "string" }],
    [
      "a new value of a request enum",
      [...schema("CreateConnectionRequest"), "properties", "access_type", "enum", 3],
      "none",
    ],
    ["a changed description", [...schema("Connection"), "description"], "Something else."],
  ];
  test.each(growth)("%s", (_title, place, value) => {
    expect(lostPromises(baseline, listPromises(edited(document, place, value)))).toEqual([]);
  });
});
