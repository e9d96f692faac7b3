import { Ajv2020 } from "ajv/dist/2020.js";
import addFormats from "ajv-formats";
import { describe, expect, test } from "vitest";
import type { JsonValue } from "../../src/json.ts";
import { type MediaType, type Schema, listExamples, listOperations, readDocument, resolve } from "./document.ts";

const document = await readDocument();
const ajv = new Ajv2020({ strict: false, allErrors: true });
addFormats.default(ajv);
ajv.addSchema({ $id: "contract", components: document.components });

/** Validates a value against a schema of the document. */
function check(schema: Schema, value: JsonValue): unknown[] {
  const local = JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"contract#/components')) as Schema;
  const validate = ajv.compile(local);
  return validate(value) ? [] : (validate.errors ?? []);
}

const bodies: [title: string, media: MediaType][] = [];
const values: [title: string, schema: Schema, value: JsonValue | undefined][] = [];
for (const { method, path, operation, parameters } of listOperations(document)) {
  for (const media of Object.values(operation.requestBody?.content ?? {}))
    bodies.push([`${method} ${path} request`, media]);
  for (const [status, reference] of Object.entries(operation.responses)) {
    const { content, headers } = resolve(document, reference);
    for (const media of Object.values(content ?? {})) bodies.push([`${method} ${path} ${status}`, media]);
    for (const [name, header] of Object.entries(headers ?? {})) {
      const { schema, example } = resolve(document, header);
      values.push([`${method} ${path} ${status} ${name}`, schema, example]);
    }
  }
  for (const { name, schema, example } of parameters) {
    if (example !== undefined) values.push([`${method} ${path} ${name}`, schema, example]);
  }
}

describe("worked examples", () => {
  test.each(bodies)("%s: exist and match their schemas", (_title, media) => {
    const examples = listExamples(document, media);
    expect(examples).not.toEqual([]);
    for (const [name, value] of examples)
      expect({ name, errors: check(media.schema, value) }).toEqual({ name, errors: [] });
  });

  test.each(values)("%s: match the schema", (_title, schema, value) => {
    expect(value).toBeDefined();
    expect(check(schema, value ?? null)).toEqual([]);
  });

  test("an invalid example is detected", () => {
    expect(check({ $ref: "#/components/schemas/GetConnectionResult" }, { success: true })).not.toEqual([]);
    expect(
      check({ $ref: "#/components/schemas/CreateConnectionRequest" }, { server_type: "mcp", color: 1 }),
    ).not.toEqual([]);
  });
});

test("the events of a stream match the event schema", () => {
  const events = resolve(
    document,
    listOperations(document).find(({ operation }) => operation.operationId === "watchConnections")?.operation.responses[
      "200"
    ] ?? {},
  );
  const media = events.content?.["text/event-stream"];
  const stream = media === undefined ? [] : listExamples(document, media).map(([, value]) => value as string);
  const payloads = stream.flatMap((text) =>
    [...text.matchAll(/^data: (.*)$/gm)].map(([, json]) => JSON.parse(json ?? "") as JsonValue),
  );
  expect(payloads.length).toBeGreaterThan(1);
  for (const payload of payloads) expect(check(media?.schema.contentSchema ?? {}, payload)).toEqual([]);
});
