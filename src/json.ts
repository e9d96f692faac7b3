/** A JSON value as `JSON.parse` yields it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object as `JSON.parse` yields it. */
export type JsonObject = { [key: string]: JsonValue };

/** Whether a value is a JSON object and not an array or null. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
