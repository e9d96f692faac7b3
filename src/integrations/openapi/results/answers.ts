import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { followReference, objectOf, type OpenApiDocument } from "../model/document.ts";
import { isJsonType } from "../model/media-type.ts";
import type { SchemaConverter } from "../schema/schema.ts";

/** Characters; a larger output schema costs a model more than it helps. */
const MAX_OUTPUT_SCHEMA_LENGTH = 20_000;
const MAX_DEFINITIONS = 40;

/**
 * Returns the schema of the first successful JSON answer, if it is an object. Without `required`, so that an empty
 * answer fits.
 */
export function outputSchemaOf(
  document: OpenApiDocument,
  converter: SchemaConverter,
  operation: JsonObject,
): JsonObject | undefined {
  const schema = successContents(document, operation).find(([type]) => isJsonType(type))?.[1];
  if (schema === undefined) return undefined;
  const target = followReference(document, schema);
  if (target.type !== "object") return undefined;
  // MCP requires `type: object` at the top, so references are resolved.
  const converted = converter.convert(target);
  if (!isJsonObject(converted) || converted.type !== "object") return undefined;
  const definitions = converter.definitionsOf([converted]);
  const count = Object.keys(definitions).length;
  if (count > MAX_DEFINITIONS) return undefined;
  const whole = count === 0 ? converted : { ...converted, definitions };
  return JSON.stringify(whole).length > MAX_OUTPUT_SCHEMA_LENGTH ? undefined : whole;
}

/** Returns the `Accept` header: the types of successful answers, JSON first. */
export function acceptOf(document: OpenApiDocument, operation: JsonObject): string {
  const types = [...new Set(successContents(document, operation).map(([type]) => type))];
  if (types.some(isJsonType)) return "application/json";
  return types.length === 0 ? "application/json, */*;q=0.5" : [...types, "*/*;q=0.5"].join(", ");
}

function successContents(document: OpenApiDocument, operation: JsonObject): readonly [string, JsonValue | undefined][] {
  return Object.entries(objectOf(operation.responses))
    .filter(([status]) => status.startsWith("2"))
    .flatMap(([, response]) => Object.entries(objectOf(followReference(document, response).content)))
    .map(([type, media]) => [type, objectOf(media).schema]);
}
