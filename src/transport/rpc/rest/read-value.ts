import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { invalid } from "../../../domain-error.ts";
import { isJsonObject, type JsonValue } from "../../../json.ts";
import { isStructField } from "../message-fields.ts";
import { createMessageReader } from "./read-message.ts";

/** Turns a JSON value into a field's value. Throws DomainError `invalid` that names the field and what it must be. */
export type ValueReader = (json: JsonValue, name: string) => unknown;

/** The smallest and the largest int32. */
export const INT32_RANGE = { min: -2_147_483_648, max: 2_147_483_647 } as const;

/** Makes the reader of a field by its kind. Throws for a kind that REST cannot read, which is at start. */
export function createValueReader(field: DescField, lenient: boolean): ValueReader {
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
