import { isJsonObject, parseJson, printJson, type JsonObject, type JsonValue } from "../../../json.ts";
import { memberOf, withMembers } from "../../../json-text.ts";
import { wrongFields } from "./listed-fields.ts";

type Changes = Record<string, string | undefined>;

/**
 * Returns a listed item as the server wrote it. Only what makes clients reject the whole list is changed: of the named
 * `fields`, those of a wrong type are removed, and `more` is set.
 */
export function listedText(value: JsonObject, text: string, fields: readonly string[], more: Changes = {}): string {
  const changes: Changes = { ...wrongFields(value, fields), ...more };
  const unambiguous = hasUniqueKeys(text) ? text : printJson(value);
  return Object.keys(changes).length === 0 ? unambiguous : withMembers(unambiguous, changes);
}

const TOOL_FIELDS = ["title", "description", "icons", "annotations", "_meta"];

/** As `listedText`; every tool gets an input schema of type object. */
export function listedToolText(value: JsonObject, text: string): string {
  const { inputSchema, outputSchema } = value;
  const hasWrongOutput = outputSchema !== undefined && !isJsonObject(outputSchema);
  return listedText(value, text, TOOL_FIELDS, {
    ...schemaChange(inputSchema, text),
    ...(hasWrongOutput && { outputSchema: undefined }),
  });
}

function schemaChange(schema: JsonValue | undefined, text: string): Changes {
  const own = memberOf(text, "inputSchema");
  if (!isJsonObject(schema) || own === undefined) return { inputSchema: '{"type":"object"}' };
  const changes: Changes = {
    ...(schema.type !== "object" && { type: '"object"' }),
    ...(schema.properties !== undefined && !isJsonObject(schema.properties) && { properties: undefined }),
    ...(schema.required !== undefined && !areTexts(schema.required) && { required: undefined }),
  };
  if (Object.keys(changes).length === 0) return {};
  return { inputSchema: withMembers(text.slice(own.start, own.end), changes) };
}

function areTexts(value: JsonValue): boolean {
  return Array.isArray(value) && value.every((item) => typeof item === "string");
}

/** A reader that takes the first of duplicate keys would see another definition than the one that was reviewed. */
function hasUniqueKeys(text: string): boolean {
  try {
    parseJson(text, { maxDepth: Infinity, uniqueKeys: true });
    return true;
  } catch {
    return false;
  }
}
