import { describe, expect, test } from "vitest";
import { readDocument } from "./document.ts";
import { edited } from "./edit.ts";
import { listPromises, lostPromises } from "./promises.ts";

const document = await readDocument();
const landed = listPromises(document);
const list = ["paths", "/api/v1/mcp-servers"];
const schema = (name: string) => ["components", "schemas", name];

type Change = [title: string, place: (string | number)[], value: unknown];

describe("a client of the last landed contract breaks, and we notice:", () => {
  const breaking: Change[] = [
    ["a path goes", ["paths", "/mcp/tools/call"], undefined],
    ["a method goes", [...list, "post"], undefined],
    ["an answer goes", [...list, "post", "responses", "201"], undefined],
    ["a header goes", [...list, "post", "responses", "201", "headers", "Location"], undefined],
    ["a parameter goes", [...list, "get", "parameters"], []],
    ["a scope is demanded that was not", [...list, "get", "security"], [{ bearer: ["mgmt.admin"] }]],
    ["a field of an answer goes", [...schema("Connection"), "properties", "created_at"], undefined],
    ["a field of an answer may be absent", [...schema("CreateConnectionResponse"), "required"], ["server_id"]],
    ["a field changes its type", [...schema("Connection"), "properties", "id", "type"], "string"],
    ["a word is refused", [...schema("UpdateConnectionRequest"), "properties", "access_type", "enum"], ["read"]],
    ["an answer has a further word", [...schema("ConnectionDetails"), "properties", "status", "enum", 3], "paused"],
    ["a request field becomes required", [...schema("CreateConnectionRequest"), "required"], ["server_type", "name"]],
    ["a lenient body becomes strict", [...schema("InitializeRequest"), "additionalProperties"], false],
    ["a body becomes required", ["paths", "/mcp/tools/list", "post", "requestBody", "required"], true],
    ["a limit changes", ["components", "parameters", "Limit", "schema", "maximum"], 100],
  ];
  test.each(breaking)("%s", (_title, place, value) => {
    expect(lostPromises(landed, listPromises(edited(document, place, value)))).not.toEqual([]);
  });
});

describe("growth breaks nobody:", () => {
  const growth: Change[] = [
    ["a new method", [...list, "patch"], { operationId: "more", security: [], responses: {} }],
    ["a further field in an answer", [...schema("Connection"), "properties", "colour"], { type: "string" }],
    [
      "a further field that a request may leave out",
      [...schema("CreateConnectionRequest"), "properties", "colour"],
      { type: "string" },
    ],
    [
      "a further word that is taken",
      [...schema("CreateConnectionRequest"), "properties", "access_type", "enum", 3],
      "none",
    ],
    ["another description", [...schema("Connection"), "description"], "Something else."],
  ];
  test.each(growth)("%s", (_title, place, value) => {
    expect(lostPromises(landed, listPromises(edited(document, place, value)))).toEqual([]);
  });
});
