import { ScalarType, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import type { JsonObject, JsonValue } from "../../../json.ts";
import { fieldValue, isStructField } from "../message-fields.ts";

/** Turns a message, or what `create` would make one of, into its JSON object. */
export type MessageWriter = (message: object) => JsonObject;

type ValueWriter = (value: unknown) => JsonValue;

const INT64: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/**
 * Makes the writer of a message type: proto JSON with every implicit field present, and Struct fields as they are, so
 * that their numbers keep every digit. Throws for a field kind that it cannot write, which is at start.
 */
export function createMessageWriter(desc: DescMessage): MessageWriter {
  return writerOf(desc, new Map());
}

function writerOf(desc: DescMessage, known: Map<DescMessage, MessageWriter>): MessageWriter {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const fields: ((message: object, json: JsonObject) => void)[] = [];
  const writer: MessageWriter = (message) => {
    const json: JsonObject = {};
    for (const write of fields) write(message, json);
    return json;
  };
  known.set(desc, writer);
  for (const field of desc.fields) fields.push(fieldWriter(field, known));
  return writer;
}

function fieldWriter(
  field: DescField,
  known: Map<DescMessage, MessageWriter>,
): (message: object, json: JsonObject) => void {
  const name = field.jsonName;
  const write = valueWriter(field, known);
  if (field.fieldKind === "list") {
    return (message, json) => {
      const items = fieldValue(message, field);
      json[name] = Array.isArray(items) ? items.map(write) : [];
    };
  }
  const whenUnset = zeroOf(field);
  return (message, json) => {
    const value = fieldValue(message, field);
    if (value !== undefined) json[name] = write(value);
    else if (whenUnset !== undefined) json[name] = whenUnset;
  };
}

/** What an unset field without presence prints. Undefined for a field that then stays away. */
function zeroOf(field: DescField): JsonValue | undefined {
  if (field.fieldKind !== "scalar" || field.presence !== FeatureSet_FieldPresence.IMPLICIT) return undefined;
  if (field.scalar === ScalarType.STRING) return "";
  if (field.scalar === ScalarType.BOOL) return false;
  return INT64.has(field.scalar) ? "0" : 0;
}

function valueWriter(field: DescField, known: Map<DescMessage, MessageWriter>): ValueWriter {
  if (field.fieldKind === "map" || field.oneof !== undefined) throw cannotWrite(field);
  if (isStructField(field)) return asJson;
  if (field.message !== undefined) {
    if (field.message.typeName.startsWith("google.protobuf.")) throw cannotWrite(field);
    const write = writerOf(field.message, known);
    return (value) => {
      if (typeof value !== "object" || value === null) throw new TypeError(`${field.toString()} must be a message`);
      return write(value);
    };
  }
  if (field.enum !== undefined) {
    const { typeName, value: values } = field.enum;
    if (typeName === "google.protobuf.NullValue") return () => null;
    return (value) => (typeof value === "number" ? (values[value]?.name ?? value) : null);
  }
  if (field.scalar === ScalarType.BYTES) throw cannotWrite(field);
  return INT64.has(field.scalar) ? String : asJson;
}

/** The named place where a scalar or the value of a Struct field is taken for the JSON that it is. */
function asJson(value: unknown): JsonValue {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return value as JsonValue;
}

function cannotWrite(field: DescField): Error {
  return new Error(`the JSON writer has no rule for ${field.toString()}`);
}
