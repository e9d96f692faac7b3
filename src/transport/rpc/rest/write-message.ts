import { create, isMessage, ScalarType, toJson, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence, timestampDate, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { asMessage, fieldValue, isStructField, isTimestampField, mapValues, memberName } from "../message-fields.ts";

/** Converts a message, or the argument of `create`, to a JSON object. */
export type MessageWriter = (message: object) => JsonObject;

type FieldWriter = (message: object, json: JsonObject) => void;

type ValueWriter = (value: unknown) => JsonValue;

const INT64: ReadonlySet<ScalarType> = new Set([
  ScalarType.INT64,
  ScalarType.UINT64,
  ScalarType.SINT64,
  ScalarType.FIXED64,
  ScalarType.SFIXED64,
]);

/** Scalars with values that JSON cannot represent directly. */
const ENCODED: ReadonlySet<ScalarType> = new Set([ScalarType.BYTES, ScalarType.FLOAT, ScalarType.DOUBLE]);

/**
 * Creates the writer of a message type: proto JSON with every implicit field present, and Struct fields unchanged, so
 * that numbers keep every digit. protobuf-es writes kinds of fields that it does not support.
 */
export function createMessageWriter(desc: DescMessage): MessageWriter {
  return writerOf(desc, new Map());
}

function writerOf(desc: DescMessage, known: Map<DescMessage, MessageWriter>): MessageWriter {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const fields: FieldWriter[] = [];
  const writer: MessageWriter = (message) => {
    const json: JsonObject = {};
    for (const write of fields) write(message, json);
    return json;
  };
  known.set(desc, writer);
  for (const field of desc.fields) fields.push(fieldWriter(field, known));
  return writer;
}

function fieldWriter(field: DescField, known: Map<DescMessage, MessageWriter>): FieldWriter {
  const name = field.jsonName;
  const write = valueWriter(field, known);
  if (write === undefined) return protoWriter(field);
  if (field.fieldKind === "list" || field.fieldKind === "map") {
    return (message, json) => {
      json[name] = asJson(mapValues(field, fieldValue(message, field), write));
    };
  }
  const whenUnset = zeroOf(field);
  return (message, json) => {
    const value = fieldValue(message, field);
    if (value !== undefined) json[name] = write(value);
    else if (whenUnset !== undefined) json[name] = whenUnset;
  };
}

/** Writes a field as protobuf-es does, in a message with no other field. */
function protoWriter(field: DescField): FieldWriter {
  const { parent, jsonName } = field;
  const member = memberName(field);
  return (message, json) => {
    const held: unknown = Reflect.get(message, member);
    const written = toJson(parent, create(parent, { [member]: held }), { alwaysEmitImplicit: true });
    if (isJsonObject(written) && written[jsonName] !== undefined) json[jsonName] = written[jsonName];
  };
}

/** The JSON value of an unset field without presence. Undefined if the field is then omitted. */
function zeroOf(field: DescField): JsonValue | undefined {
  if (field.fieldKind !== "scalar" || field.presence !== FeatureSet_FieldPresence.IMPLICIT) return undefined;
  if (field.scalar === ScalarType.STRING) return "";
  if (field.scalar === ScalarType.BOOL) return false;
  return INT64.has(field.scalar) ? "0" : 0;
}

/** Returns the writer of a field's single values; undefined for a kind without a rule here. */
function valueWriter(field: DescField, known: Map<DescMessage, MessageWriter>): ValueWriter | undefined {
  if (isStructField(field)) return asJson;
  if (isTimestampField(field)) return writeTimestamp;
  if (field.message !== undefined) {
    if (field.message.typeName.startsWith("google.protobuf.")) return undefined;
    const write = writerOf(field.message, known);
    return (value) => write(asMessage(value));
  }
  if (field.enum !== undefined) {
    const { typeName, value: values } = field.enum;
    if (typeName === "google.protobuf.NullValue") return () => null;
    return (value) => (typeof value === "number" ? (values[value]?.name ?? value) : null);
  }
  if (ENCODED.has(field.scalar)) return undefined;
  return INT64.has(field.scalar) ? String : asJson;
}

/** Writes at least three digits of a second in every time, also where protobuf-es writes none. */
function writeTimestamp(value: unknown): string {
  if (!isMessage(value, TimestampSchema)) throw new TypeError("a Timestamp field holds no Timestamp");
  const isInMs = value.nanos % 1_000_000 === 0;
  return isInMs ? timestampDate(value).toISOString() : toJson(TimestampSchema, value);
}

/** The only place that treats a scalar, a Struct value or JSON built from them as JSON. */
function asJson(value: unknown): JsonValue {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return value as JsonValue;
}
