import { load } from "js-yaml";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";

/** Limits YAML expansion: with 12 aliases a document expands to at most 81 times its size. */
const MAX_ALIASES = 12;

/** Longer chains of references count as circular. */
const MAX_HOPS = 32;

/** References stay in place, because recursive schemas cannot be written as JSON without them. */
export interface OpenApiDocument {
  readonly root: JsonObject;
  /** 3.0 has its own dialect of JSON Schema; 3.1 and 3.2 use 2020-12. */
  readonly dialect: "3.0" | "3.1";
}

/** An unusable document. The message is for its author. */
export class OpenApiError extends Error {
  override readonly name = "OpenApiError";
}

/** Parses OpenAPI 3.0, 3.1 or 3.2 as YAML or JSON. Throws OpenApiError. */
export function parseOpenApi(text: string): OpenApiDocument {
  return asDocument(parseRoot(text));
}

/** Parses YAML or JSON as an object. Throws OpenApiError. */
export function parseRoot(text: string): JsonObject {
  const root = text.trimStart().startsWith("{") ? parseJson(text) : parseYaml(text);
  if (!isJsonObject(root)) throw new OpenApiError("is not an object");
  return root;
}

/** Checks the version and `paths`. Throws OpenApiError. */
export function asDocument(root: JsonObject): OpenApiDocument {
  const version = root.openapi;
  if (typeof version !== "string") throw new OpenApiError('has no "openapi" version');
  if (!/^3\.[012](\.\d+)?$/.test(version)) throw new OpenApiError(`is OpenAPI ${version}; 3.0, 3.1 and 3.2 are read`);
  if (!isJsonObject(root.paths)) throw new OpenApiError('has no "paths"');
  return { root, dialect: version.startsWith("3.0") ? "3.0" : "3.1" };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new OpenApiError(`is not valid JSON: ${error instanceof Error ? error.message : String(error)}`);
  }
}

function parseYaml(text: string): unknown {
  try {
    return load(text, { maxAliases: MAX_ALIASES });
  } catch (error) {
    throw new OpenApiError(`is not valid YAML: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/**
 * Resolves a local reference such as `#/components/schemas/Employee`. Throws OpenApiError for dangling references and
 * for others, which would make the service fetch addresses that a document names.
 */
export function lookUp(document: OpenApiDocument, reference: string): JsonValue {
  if (reference === "#") return document.root;
  if (!reference.startsWith("#/")) throw new OpenApiError(`refers outside itself: ${reference}`);
  let value: JsonValue | undefined = document.root;
  for (const step of reference.slice(2).split("/")) {
    const key = decodeStep(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (Array.isArray(value)) value = value[Number(key)];
    else value = isJsonObject(value) && Object.hasOwn(value, key) ? value[key] : undefined;
    if (value === undefined) throw new OpenApiError(`has a dangling reference: ${reference}`);
  }
  return value;
}

function decodeStep(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}

/** Follows a chain of references to an object. Throws OpenApiError. */
export function followReference(document: OpenApiDocument, value: JsonValue | undefined): JsonObject {
  let current = value;
  for (let hop = 0; hop < MAX_HOPS; hop += 1) {
    if (!isJsonObject(current)) return {};
    const reference = current.$ref;
    if (typeof reference !== "string") return current;
    current = lookUp(document, reference);
  }
  throw new OpenApiError("has references that only lead to each other");
}

/** Returns an empty object for other values, since documents of vendors omit or mistype values. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isJsonObject(value) ? value : {};
}

export function arrayOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

export function stringOf(value: JsonValue | undefined): string | undefined {
  return typeof value === "string" ? value : undefined;
}
