import { create, ScalarType, type DescField, type DescMessage, type Message } from "@bufbuild/protobuf";
import { invalid } from "../../../domain-error.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { isStructField } from "../message-fields.ts";

/** Turns a JSON object into a message. `path` precedes the names of its fields in errors. */
export type MessageReader = (json: JsonObject, path: string) => Message;

/** How a body is read. */
export interface ReaderOptions {
  /** Whether unknown fields are ignored rather than refused. */
  readonly lenient: boolean;
  /** Fields that the body may not carry, by JSON name, with the sentence that says why. */
  readonly elsewhere: ReadonlyMap<string, string>;
}

/**
 * Makes the reader of a message type. Names are exactly the JSON names, types exactly the JSON types of the contract:
 * no numbers in strings, no camel-case aliases. `null` means that the field was left out.
 */
export function createMessageReader(desc: DescMessage, options: ReaderOptions): MessageReader {
  const readers = new Map<string, { readonly localName: string; readonly read: ValueReader }>();
  for (const field of desc.fields) {
    if (options.elsewhere.has(field.jsonName)) continue;
    readers.set(field.jsonName, { localName: field.localName, read: createValueReader(field, options.lenient) });
  }
  return (json, path) => {
    const message = create(desc);
    for (const [key, value] of Object.entries(json)) {
      const field = readers.get(key);
      if (field === undefined) {
        const sentence = options.elsewhere.get(key);
        if (sentence !== undefined) throw invalid(key, sentence);
        if (options.lenient) continue;
        throw unknownField(path + key);
      }
      if (value !== null) Reflect.set(message, field.localName, field.read(value, path + key));
    }
    return message;
  };
}

/** Turns a JSON value into a field's value. Throws DomainError `invalid` that names the field and what it must be. */
type ValueReader = (json: JsonValue, name: string) => unknown;

/** The smallest and the largest int32. */
export const INT32_RANGE = { min: -2_147_483_648, max: 2_147_483_647 } as const;

/** The reader of a field by its kind. Throws for a kind that REST cannot read, which is at start. */
function createValueReader(field: DescField, lenient: boolean): ValueReader {
  if (field.fieldKind === "map" || field.oneof !== undefined) throw cannotRead(field);
  const read = singleReader(field, lenient);
  if (field.fieldKind !== "list") return read;
  return (json, name) => {
    if (!Array.isArray(json)) throw invalid(name, `${name} must be a list.`);
    return json.map((item, index) => read(item, `${name}[${String(index)}]`));
  };
}

function singleReader(field: DescField, lenient: boolean): ValueReader {
  if (isStructField(field)) return readObject;
  if (field.message !== undefined) return nestedReader(field.message, field, lenient);
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
      throw cannotRead(field);
  }
}

function nestedReader(desc: DescMessage, field: DescField, lenient: boolean): ValueReader {
  if (desc.typeName.startsWith("google.protobuf.")) throw cannotRead(field);
  const read = createMessageReader(desc, { lenient, elsewhere: new Map() });
  return (json, name) => {
    if (!isJsonObject(json)) throw invalid(name, `${name} must be an object.`);
    return read(json, `${name}.`);
  };
}

function readObject(json: JsonValue, name: string): unknown {
  if (!isJsonObject(json)) throw invalid(name, `${name} must be an object.`);
  return json;
}

function readInt32(json: JsonValue, name: string): number {
  const isHuge = JSON.isRawJSON(json);
  if (!isHuge && (typeof json !== "number" || !Number.isInteger(json))) {
    throw invalid(name, `${name} must be an integer.`);
  }
  if (typeof json !== "number" || json < INT32_RANGE.min || json > INT32_RANGE.max) throw outOfRange(name);
  return json;
}

/** An integer that int32 cannot hold. */
export function outOfRange(name: string): Error {
  return invalid(name, `${name} must be between ${String(INT32_RANGE.min)} and ${String(INT32_RANGE.max)}.`);
}

function cannotRead(field: DescField): Error {
  return new Error(`the REST protocol has no rule for reading ${field.toString()}`);
}

/** A name that the contract does not know, echoed as far as it is fit to print. */
export function unknownField(name: string): Error {
  const shown = printable(name);
  return invalid(shown, `${shown} is not a known field.`);
}

/** At most 64 printable characters of what a caller sent, for an error that echoes it. */
export function printable(text: string): string {
  return text
    .toWellFormed()
    .replaceAll(/[^\P{C}]/gu, "?")
    .slice(0, 64);
}
