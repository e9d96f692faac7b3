import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../../../json.ts";

/** How deep an upstream's JSON may nest. */
const MAX_DEPTH = 64;

/** The JSON-RPC messages in a text: one, or a batch as the 2025-03-26 revision has it. None where it is not JSON. */
export function messagesIn(text: string): readonly JsonObject[] {
  const value = parsed(text);
  return (Array.isArray(value) ? value : [value]).filter((message) => isJsonObject(message));
}

/** Whether a message answers the request with this id. */
export function isResponse(message: JsonObject, id: number): boolean {
  return message.id === id && message.method === undefined;
}

/** The answer among messages: the one with the id, or a lone error without an id, as servers give to what they could not read. */
export function responseAmong(messages: readonly JsonObject[], id: number): JsonObject | undefined {
  const found = messages.find((message) => isResponse(message, id));
  if (found !== undefined) return found;
  const [only, ...others] = messages;
  return others.length === 0 && only?.method === undefined && errorOf(only) !== undefined ? only : undefined;
}

/** The error object of a message, where it carries one. */
export function errorOf(message: JsonObject | undefined): JsonObject | undefined {
  const error = message?.error;
  return isJsonObject(error) ? error : undefined;
}

/** The numeric code of an error object. */
export function errorCodeOf(error: JsonObject | undefined): number | undefined {
  const code = error?.code;
  return typeof code === "number" ? code : undefined;
}

function parsed(text: string): JsonValue {
  try {
    return parseJson(text, { maxDepth: MAX_DEPTH });
  } catch {
    return null;
  }
}
