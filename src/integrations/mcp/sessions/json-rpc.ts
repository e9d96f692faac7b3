import { memberOf } from "../../../json-text.ts";
import { isJsonObject, parseJson, type JsonObject, type JsonValue } from "../../../json.ts";

/** Nesting levels of an upstream's JSON. */
const MAX_DEPTH = 64;

/** Parses one JSON-RPC message, or a batch of the 2025-03-26 revision. Returns an empty list for invalid JSON. */
export function messagesIn(text: string): readonly JsonObject[] {
  const value = parsed(text);
  return (Array.isArray(value) ? value : [value]).filter((message) => isJsonObject(message));
}

export function isResponse(message: JsonObject, id: number): boolean {
  return message.id === id && message.method === undefined;
}

/**
 * Returns the response with this id, or a single error without an id, which servers send for requests they cannot
 * parse.
 */
export function responseAmong(messages: readonly JsonObject[], id: number): JsonObject | undefined {
  const found = messages.find((message) => isResponse(message, id));
  if (found !== undefined) return found;
  const [only, ...others] = messages;
  return others.length === 0 && only?.method === undefined && errorOf(only) !== undefined ? only : undefined;
}

/** Returns the text of a message's result; undefined for a batch. */
export function resultTextIn(message: string): string | undefined {
  const result = memberOf(message, "result");
  return result && message.slice(result.start, result.end);
}

export function errorOf(message: JsonObject | undefined): JsonObject | undefined {
  const error = message?.error;
  return isJsonObject(error) ? error : undefined;
}

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
