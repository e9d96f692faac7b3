import { endOfJsonString } from "./json-text.ts";

/** A JSON value as `parseJson` yields it. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object as `parseJson` yields it. */
export type JsonObject = { [key: string]: JsonValue };

declare global {
  interface JSON {
    /** A value that `JSON.stringify` prints as the given text. */
    rawJSON(text: string): JsonObject;
    /** Whether a value was made by `JSON.rawJSON`. */
    isRawJSON(value: unknown): boolean;
    parse(
      text: string,
      reviver: (key: string, value: unknown, context: { readonly source?: string }) => unknown,
    ): unknown;
  }
}

/** Whether a value is a JSON object, and not an array, null or an exact number. */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value) && !JSON.isRawJSON(value);
}

/** Number forms that a double may not represent exactly: 16 consecutive digits or a three-digit exponent. */
const MAYBE_INEXACT = /\d{16}|[eE]\+?\d{3}/;

const INTEGER = /^-?\d+$/;

/** Limits of `parseJson` beyond JSON syntax. */
export interface ParseLimits {
  /** The deepest nesting of arrays and objects. The outermost counts as 1. */
  readonly maxDepth: number;
  /** Whether duplicate keys are rejected. By default the last one wins. */
  readonly uniqueKeys?: boolean;
  /** The maximum number of values, including nested ones. Default: unlimited. */
  readonly maxValues?: number;
}

/**
 * Parses JSON without rounding: an integer beyond 2^53 becomes a `JSON.rawJSON` value, which `printJson` and
 * `JSON.stringify` print exactly. Throws SyntaxError with a message for the caller.
 */
export function parseJson(text: string, limits: ParseLimits): JsonValue {
  const value = parseExactly(text);
  scan(text, limits);
  return value;
}

/** Prints a value of `parseJson` with every digit. */
export function printJson(value: JsonValue): string {
  return JSON.stringify(value);
}

/** Prints a value with sorted keys, so that equal values have equal text. */
export function printInKeyOrder(value: JsonValue | object): string {
  return JSON.stringify(value, inKeyOrder);
}

function inKeyOrder(_key: string, value: unknown): unknown {
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** Rounds exact numbers to doubles, for JSON Schema and protobuf. Returns the same value if there are none. */
export function roundNumbers<T extends JsonValue>(value: T): T;
export function roundNumbers(value: JsonValue): JsonValue {
  if (typeof value !== "object" || value === null) return value;
  if (JSON.isRawJSON(value)) return Number(JSON.stringify(value));
  if (Array.isArray(value)) {
    const rounded = value.map((item) => roundNumbers(item));
    return rounded.some((item, index) => item !== value[index]) ? rounded : value;
  }
  let changed = false;
  const entries = Object.entries(value).map(([key, item]): [string, JsonValue] => {
    const rounded = roundNumbers(item);
    changed ||= rounded !== item;
    return [key, rounded];
  });
  // eslint-disable-next-line @typescript-eslint/no-unnecessary-condition -- the loop above sets it.
  return changed ? Object.fromEntries(entries) : value;
}

function parseExactly(text: string): JsonValue {
  try {
    if (!MAYBE_INEXACT.test(text)) return toJsonValue(JSON.parse(text));
    return toJsonValue(JSON.parse(text, (_key, value: unknown, { source }) => exactNumber(value, source)));
  } catch (cause) {
    throw new SyntaxError("The text is not valid JSON.", { cause });
  }
}

/** The only cast of a `JSON.parse` result to JsonValue. */
function toJsonValue(parsed: unknown): JsonValue {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return parsed as JsonValue;
}

function exactNumber(value: unknown, source: string | undefined): unknown {
  if (typeof value !== "number" || source === undefined) return value;
  const rounded = !Number.isFinite(value) || (INTEGER.test(source) && !Number.isSafeInteger(value));
  return rounded ? JSON.rawJSON(source) : value;
}

/** Checks valid JSON text for nesting depth and duplicate keys, which `JSON.parse` does not report. */
function scan(text: string, { maxDepth, uniqueKeys = false, maxValues = Infinity }: ParseLimits): void {
  const keysOfOpen: (Set<string> | undefined)[] = [];
  let expectKey = false;
  let values = 1;
  for (let at = 0; at < text.length; at += 1) {
    if (values > maxValues) throw new SyntaxError(`The JSON has more than ${String(maxValues)} values.`);
    switch (text.charCodeAt(at)) {
      case 0x7b /* { */:
      case 0x5b /* [ */: {
        if (keysOfOpen.length >= maxDepth) {
          throw new SyntaxError(`The JSON is nested deeper than ${String(maxDepth)} levels.`);
        }
        const isObject = text.charCodeAt(at) === 0x7b;
        keysOfOpen.push(isObject && uniqueKeys ? new Set() : undefined);
        expectKey = isObject;
        if (!isEmpty(text, at)) values += 1;
        break;
      }
      case 0x7d /* } */:
      case 0x5d /* ] */:
        keysOfOpen.pop();
        expectKey = false;
        break;
      case 0x2c /* , */:
        expectKey = keysOfOpen.at(-1) !== undefined;
        values += 1;
        break;
      case 0x22 /* " */: {
        const end = endOfJsonString(text, at);
        if (uniqueKeys && expectKey) noteKey(keysOfOpen.at(-1), text.slice(at, end + 1));
        expectKey = false;
        at = end;
        break;
      }
    }
  }
}

/** Whether the array or object that opens at this index is empty. */
function isEmpty(text: string, start: number): boolean {
  let next = start + 1;
  while (/\s/.test(text.charAt(next))) next += 1;
  return text.charAt(next) === (text.charAt(start) === "{" ? "}" : "]");
}

function noteKey(keys: Set<string> | undefined, quoted: string): void {
  const key = quoted.includes("\\") ? String(JSON.parse(quoted)) : quoted.slice(1, -1);
  if (keys?.has(key)) throw new SyntaxError(`The key ${JSON.stringify(key.slice(0, 64))} is given twice.`);
  keys?.add(key);
}
