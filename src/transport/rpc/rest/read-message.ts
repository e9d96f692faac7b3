import { create, fromJson, ScalarType, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { timestampFromDate, type Timestamp } from "@bufbuild/protobuf/wkt";
import { DomainError, invalid } from "../../../domain-error.ts";
import { isJsonObject, roundNumbers, type JsonObject, type JsonValue } from "../../../json.ts";
import { fieldValue, isStructField, isTimestampField, setField } from "../message-fields.ts";
import { parseTimestamp } from "./parse-timestamp.ts";

/** Converts a JSON object to a message. `path` precedes field names in errors. */
export type MessageReader = (json: JsonObject, path: string) => Message;

export interface ReaderOptions {
  /** Whether unknown fields are ignored rather than refused. */
  readonly lenient: boolean;
  /** Fields that the body must not contain, by JSON name, with the error text. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

/**
 * Creates the reader of a message type. Names and types must match the JSON names and types of the contract exactly: no
 * numbers in strings, no camel-case aliases. `null` means absent.
 */
export function createMessageReader(desc: DescMessage, options: ReaderOptions): MessageReader {
  const readers = new Map<string, { readonly field: DescField; readonly read: ValueReader }>();
  for (const field of desc.fields) {
    if (options.elsewhere.has(field.jsonName)) continue;
    readers.set(field.jsonName, { field, read: createValueReader(field, options.lenient) });
  }
  return (json, path) => {
    const message = create(desc);
    for (const [key, value] of Object.entries(json)) {
      const reader = readers.get(key);
      if (reader === undefined) {
        const sentence = options.elsewhere.get(key);
        if (sentence !== undefined) throw invalid(key, sentence);
        if (options.lenient) continue;
        throw unknownField(path + key);
      }
      if (value === null) continue;
      const { field, read } = reader;
      const isChosen = field.oneof?.fields.some((each) => fieldValue(message, each) !== undefined) === true;
      if (isChosen) throw invalid(path + key, `${path + key} conflicts with another supplied field.`);
      setField(message, field, read(value, path + key));
    }
    return message;
  };
}

/** Converts a JSON value to a field's value. Throws DomainError `invalid` with the field and its rule. */
type ValueReader = (json: JsonValue, name: string) => unknown;

export const INT32_RANGE = { min: -2_147_483_648, max: 2_147_483_647 } as const;

function createValueReader(field: DescField, lenient: boolean): ValueReader {
  const read = singleReader(field, lenient);
  if (read === undefined || (field.fieldKind === "map" && !isStructField(field))) return protoReader(field, lenient);
  if (field.fieldKind === "map") {
    return (json, name) => {
      if (!isJsonObject(json)) throw invalid(name, `${name} must be an object.`);
      return Object.fromEntries(Object.entries(json).map(([key, item]) => [key, read(item, `${name}.${key}`)]));
    };
  }
  if (field.fieldKind !== "list") return read;
  return (json, name) => {
    if (!Array.isArray(json)) throw invalid(name, `${name} must be a list.`);
    return json.map((item, index) => read(item, `${name}[${String(index)}]`));
  };
}

/** Returns the reader of a single value by the rules of our contracts; undefined for an unused kind. */
function singleReader(field: DescField, lenient: boolean): ValueReader | undefined {
  if (isStructField(field)) return readObject;
  if (isTimestampField(field)) return readTimestamp;
  if (field.message !== undefined) return nestedReader(field.message, lenient);
  switch (field.scalar) {
    case ScalarType.STRING:
      return (json, name) => {
        if (typeof json !== "string") throw invalid(name, `${name} must be a string.`);
        return json;
      };
    case ScalarType.BOOL:
      return (json, name) => {
        if (typeof json !== "boolean") throw invalid(name, `${name} must be a boolean.`);
        return json;
      };
    case ScalarType.INT32:
      return readInt32;
    default:
      return undefined;
  }
}

function nestedReader(desc: DescMessage, lenient: boolean): ValueReader | undefined {
  if (desc.typeName.startsWith("google.protobuf.")) return undefined;
  let read: MessageReader | undefined;
  return (json, name) => {
    if (!isJsonObject(json)) throw invalid(name, `${name} must be an object.`);
    // Created on first use, because a message may contain its own type.
    read ??= createMessageReader(desc, { lenient, elsewhere: new Map() });
    return read(json, `${name}.`);
  };
}

function readObject(json: JsonValue, name: string): unknown {
  if (!isJsonObject(json)) throw invalid(name, `${name} must be an object.`);
  return json;
}

/** Reads a time in the form of proto JSON, or a date, which means its start in UTC. */
export function readTimestamp(json: JsonValue, name: string): Timestamp {
  if (typeof json !== "string") throw invalid(name, `${name} must be a string.`);
  return timestampFromDate(parseTimestamp(name, json));
}

function readInt32(json: JsonValue, name: string): number {
  const isHuge = JSON.isRawJSON(json);
  if (!isHuge && (typeof json !== "number" || !Number.isInteger(json))) {
    throw invalid(name, `${name} must be an integer.`);
  }
  if (typeof json !== "number" || json < INT32_RANGE.min || json > INT32_RANGE.max) throw outOfRange(name);
  return json;
}

/** An integer outside the range of int32. */
export function outOfRange(name: string): Error {
  return invalid(name, `${name} must be between ${String(INT32_RANGE.min)} and ${String(INT32_RANGE.max)}.`);
}

/** Reads a field of any other kind by the rules of proto JSON. */
export function protoReader(field: DescField, lenient: boolean): ValueReader {
  return (json, name) => {
    try {
      const alone = { [field.jsonName]: roundNumbers(json) };
      return fieldValue(fromJson(field.parent, alone, { ignoreUnknownFields: lenient }), field);
    } catch (cause) {
      throw new DomainError("invalid", `${name} is not a valid ${kindOf(field)}.`, { field: name, cause });
    }
  };
}

function kindOf(field: DescField): string {
  if (field.fieldKind === "map") return "map";
  return field.message?.typeName ?? field.enum?.typeName ?? ScalarType[field.scalar ?? ScalarType.STRING].toLowerCase();
}

/** The error for an unknown name. */
function unknownField(name: string): Error {
  const shown = printableValue(name);
  return invalid(shown, `${shown} is not a known field.`);
}

/** At most 64 printable characters of a caller's text, for an error that echoes it. */
export function printableValue(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{C}]/gu, "?")
    .slice(0, 64);
}
