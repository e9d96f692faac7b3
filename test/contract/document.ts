import { readFile } from "node:fs/promises";
import { parse } from "yaml";
import type { JsonValue } from "../../src/json.ts";

/** The parts of a JSON Schema that the contract uses. */
export interface Schema {
  $ref?: string;
  title?: string;
  /** Alternatives for a request field that accepts `null`; see `plain`. */
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: (string | null)[];
  const?: JsonValue;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  maxItems?: number;
  pattern?: string;
  writeOnly?: boolean;
  required?: string[];
  properties?: Record<string, Schema>;
  additionalProperties?: boolean;
  items?: Schema;
  oneOf?: Schema[];
  anyOf?: Schema[];
  contentSchema?: Schema;
}

/**
 * The values in path, query or body of one kind of request, or several alternatives. `*` is a value that no other
 * example of the operation uses.
 */
export type When = Record<string, string | string[]>;

/** A worked example, inline or by reference. */
export interface Example {
  $ref?: string;
  /**
   * The requests that get this example, as alternatives. Absent if every request gets it, or if it requires `Prefer`.
   */
  "x-when"?: When | When[];
  value?: JsonValue;
}

/** A body of one content type. */
export interface MediaType {
  schema: Schema;
  examples?: Record<string, Example>;
}

/** A response header, inline or by reference. */
export interface Header {
  $ref?: string;
  required?: boolean;
  schema: Schema;
  example?: JsonValue;
}

/** A response, inline or by reference. */
export interface Answer {
  $ref?: string;
  description?: string;
  headers?: Record<string, Header>;
  content?: Record<string, MediaType>;
  links?: Record<string, { operationId: string; parameters: Record<string, string> }>;
}

/** A parameter, inline or by reference. */
export interface Parameter {
  $ref?: string;
  name: string;
  in: "path" | "query" | "header";
  description?: string;
  required?: boolean;
  schema: Schema;
  example?: JsonValue;
}

/** One method of one path. */
export interface Operation {
  operationId: string;
  security: Record<string, string[]>[];
  parameters?: Parameter[];
  requestBody?: { required?: boolean; content: Record<string, MediaType> };
  responses: Record<string, Answer>;
}

/** The parts of the OpenAPI document that tests use. */
export interface Document {
  paths: Record<string, Record<string, unknown>>;
  components: { schemas: Record<string, Schema> } & Record<string, Record<string, unknown>>;
}

/** An operation with its path and all parameters, including those of its path item. */
export interface LocatedOperation {
  method: string;
  path: string;
  operation: Operation;
  parameters: Parameter[];
}

const METHODS = ["get", "post", "put", "patch", "delete"];

/** Reads the HTTP contract. The linter checks that it is valid OpenAPI. */
export async function readDocument(): Promise<Document> {
  return parse(await readFile(new URL("../../openapi/patchbay.yaml", import.meta.url), "utf8")) as Document;
}

/** Follows a local reference, or returns the value itself. Throws for a dangling reference. */
export function resolve<T extends { $ref?: string }>(document: Document, value: T): T {
  if (value.$ref === undefined) return value;
  let found: unknown = document;
  for (const part of value.$ref.slice(2).split("/")) found = (found as Record<string, unknown> | undefined)?.[part];
  if (found === undefined) throw new Error(`dangling reference ${value.$ref}`);
  return resolve(document, found as T);
}

/** A schema without its `null` alternative. */
export interface PlainSchema {
  readonly schema: Schema & { type?: string };
  readonly takesNull: boolean;
}

/** Splits a schema into its type and whether it accepts `null`. Follows references. */
export function plain(document: Document, given: Schema): PlainSchema {
  const { type, enum: words, oneOf, ...rest } = resolve(document, given);
  const shapes = oneOf?.filter((shape) => shape.type !== "null");
  const [only, another] = shapes ?? [];
  if (only !== undefined && another === undefined) {
    const inner = plain(document, only);
    return { schema: { ...rest, ...inner.schema }, takesNull: inner.takesNull || shapes?.length !== oneOf?.length };
  }
  // A string with one of several formats repeats its type in each alternative.
  const types = [type ?? rest.anyOf?.[0]?.type ?? []].flat();
  const [first, ...others] = types.length > 1 ? types.filter((word) => word !== "null") : types;
  if (others.length > 0) throw new Error(`a field cannot have two types: ${types.join(", ")}`);
  const known = words?.filter((word) => word !== null);
  return {
    schema: {
      ...rest,
      ...(first !== undefined && { type: first }),
      ...(known !== undefined && { enum: known }),
      ...(oneOf !== undefined && { oneOf }),
    },
    takesNull: types.length > 1,
  };
}

/** Lists every operation in document order. */
export function listOperations(document: Document): LocatedOperation[] {
  return Object.entries(document.paths).flatMap(([path, item]) => {
    const shared = (item.parameters ?? []) as Parameter[];
    return Object.entries(item)
      .filter(([method]) => METHODS.includes(method))
      .map(([method, value]) => {
        const operation = value as Operation;
        const parameters = [...shared, ...(operation.parameters ?? [])].map((each) => resolve(document, each));
        return { method: method.toUpperCase(), path, operation, parameters };
      });
  });
}

/** Returns the worked examples of a body by name, with references resolved. */
export function listExamples(document: Document, media: MediaType): [name: string, value: JsonValue][] {
  return Object.entries(media.examples ?? {}).map(([name, example]) => {
    const { value } = resolve(document, example);
    if (value === undefined) throw new Error(`example ${name} has no value`);
    return [name, value];
  });
}
