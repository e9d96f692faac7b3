import { createHash } from "node:crypto";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { type Direction, keywordsOf30, keywordsOf31 } from "./schema-keywords.ts";
import { lookUp, type OpenApiDocument } from "../model/document.ts";

/** Converts a document's schemas to Draft 7. References point to `#/definitions/…`. */
export interface SchemaConverter {
  convert(schema: JsonValue): JsonValue;
  /** Returns the definitions that the schemas refer to, transitively. The objects are shared. */
  definitionsOf(schemas: readonly JsonValue[]): JsonObject;
}

/** Converts each referenced schema once. */
export function createSchemaConverter(document: OpenApiDocument, direction: Direction): SchemaConverter {
  /** Reference → name under `definitions`. */
  const names = new Map<string, string>();
  const taken = new Set<string>();
  /** Name → converted schema and its references. */
  const converted = new Map<string, { schema: JsonValue; uses: ReadonlySet<string> }>();

  function nameOf(reference: string): string {
    const known = names.get(reference);
    if (known !== undefined) return known;
    const last = reference.slice(reference.lastIndexOf("/") + 1).replaceAll(/[^A-Za-z0-9_.-]/g, "_");
    const name = taken.has(last) ? `${last}_${shortHash(reference)}` : last;
    names.set(reference, name);
    taken.add(name);
    // Reserved first, because the schema may refer to itself.
    converted.set(name, { schema: true, uses: new Set() });
    const schema = convert(lookUp(document, reference));
    converted.set(name, { schema, uses: referencesIn(schema) });
    return name;
  }

  function convert(schema: JsonValue): JsonValue {
    if (!isJsonObject(schema)) return schema === false ? false : {};
    const reference = schema.$ref;
    if (typeof reference !== "string") return convertKeywords(schema);
    const target = { $ref: `#/definitions/${nameOf(reference)}` };
    // 3.0 and Draft 7 ignore siblings of a reference, 3.1 applies them.
    if (document.dialect === "3.0") return target;
    const { $ref: _, ...siblings } = schema;
    const beside = convertKeywords(siblings);
    return Object.keys(beside).length === 0 ? target : { ...beside, allOf: [...listOf(beside.allOf), target] };
  }

  function convertKeywords(schema: JsonObject): JsonObject {
    return document.dialect === "3.0"
      ? keywordsOf30(schema, direction, convert)
      : keywordsOf31(schema, direction, convert);
  }

  return {
    convert,
    definitionsOf(schemas) {
      const needed = new Set<string>();
      const waiting = schemas.flatMap((schema) => [...referencesIn(schema)]);
      for (let name = waiting.pop(); name !== undefined; name = waiting.pop()) {
        if (needed.has(name)) continue;
        needed.add(name);
        waiting.push(...(converted.get(name)?.uses ?? []));
      }
      return Object.fromEntries([...needed].sort().map((name) => [name, converted.get(name)?.schema ?? true]));
    },
  };
}

function referencesIn(schema: JsonValue, found = new Set<string>()): ReadonlySet<string> {
  if (Array.isArray(schema)) for (const item of schema) referencesIn(item, found);
  else if (isJsonObject(schema)) {
    const reference = schema.$ref;
    if (typeof reference === "string" && reference.startsWith("#/definitions/"))
      found.add(reference.slice("#/definitions/".length));
    for (const value of Object.values(schema)) if (typeof value === "object") referencesIn(value, found);
  }
  return found;
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}

function shortHash(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, 6);
}
