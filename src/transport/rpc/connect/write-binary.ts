import { ScalarType, fromJson, toBinary, type DescField, type DescMessage } from "@bufbuild/protobuf";
import { BinaryWriter, WireType } from "@bufbuild/protobuf/wire";
import { FeatureSet_FieldPresence, StructSchema } from "@bufbuild/protobuf/wkt";
import type { JsonObject } from "../../../json.ts";
import { fieldValue, isStructField } from "../message-fields.ts";

/** Writes a message, or what `create` would make one of, in protobuf's binary form, behind a number of free bytes. */
export type BinaryMessageWriter = (message: object, freeBytes: number) => Uint8Array;

type FieldWriter = (writer: BinaryWriter, message: object) => void;

type ValueWriter = (writer: BinaryWriter, value: unknown) => void;

/** A buffer that grew beyond this is not kept for the next message, in bytes. */
const MAX_KEPT_BYTES = 64 * 1024;

/**
 * Makes the binary writer of a message type. It skips `create` and keeps its buffer, which is half the price of
 * `toBinary`. Undefined for a type with fields that it has no rule for; `toBinary` then serves.
 */
export function createBinaryWriter(desc: DescMessage): BinaryMessageWriter | undefined {
  const fields = fieldWriters(desc, new Map());
  if (fields === undefined) return undefined;
  let kept: BinaryWriter | undefined;
  return (message, freeBytes) => {
    const writer = kept ?? new BinaryWriter();
    // Taken until it is whole again: a failure halfway must not leave its bytes to the next message.
    kept = undefined;
    if (freeBytes > 0) writer.raw(new Uint8Array(freeBytes));
    for (const write of fields) write(writer, message);
    const bytes = writer.finish();
    if (bytes.byteLength <= MAX_KEPT_BYTES) kept = writer;
    return bytes;
  };
}

function fieldWriters(desc: DescMessage, known: Map<DescMessage, FieldWriter[]>): FieldWriter[] | undefined {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const writers: FieldWriter[] = [];
  known.set(desc, writers);
  for (const field of desc.fields) {
    const writer = fieldWriter(field, known);
    if (writer === undefined) return undefined;
    writers.push(writer);
  }
  return writers;
}

function fieldWriter(field: DescField, known: Map<DescMessage, FieldWriter[]>): FieldWriter | undefined {
  if (field.fieldKind === "map" || field.oneof !== undefined) return undefined;
  const write = valueWriter(field, known);
  if (write === undefined) return undefined;
  const wireType = wireTypeOf(field);
  const tag = field.number * 8 + wireType;
  if (field.fieldKind === "list") {
    const packed = field.packed ? field.number * 8 + WireType.LengthDelimited : undefined;
    return (writer, message) => {
      const items = fieldValue(message, field);
      if (!Array.isArray(items) || items.length === 0) return;
      if (packed === undefined) {
        for (const item of items) write(writer.uint32(tag), item);
        return;
      }
      writer.uint32(packed).fork();
      for (const item of items) write(writer, item);
      writer.join();
    };
  }
  const skipsZero = field.presence === FeatureSet_FieldPresence.IMPLICIT;
  return (writer, message) => {
    const value = fieldValue(message, field);
    if (value === undefined || (skipsZero && isZero(value))) return;
    write(writer.uint32(tag), value);
  };
}

function isZero(value: unknown): boolean {
  return value === "" || value === false || value === 0;
}

function wireTypeOf(field: DescField): WireType {
  if (field.message !== undefined || field.scalar === ScalarType.STRING) return WireType.LengthDelimited;
  return WireType.Varint;
}

function valueWriter(field: DescField, known: Map<DescMessage, FieldWriter[]>): ValueWriter | undefined {
  if (isStructField(field)) {
    return (writer, value) => {
      writer.bytes(toBinary(StructSchema, fromJson(StructSchema, asJsonObject(value))));
    };
  }
  if (field.message !== undefined) {
    if (field.message.typeName.startsWith("google.protobuf.")) return undefined;
    const fields = fieldWriters(field.message, known);
    if (fields === undefined) return undefined;
    return (writer, value) => {
      if (typeof value !== "object" || value === null) throw new TypeError(`${field.toString()} must be a message`);
      writer.fork();
      for (const write of fields) write(writer, value);
      writer.join();
    };
  }
  if (field.enum !== undefined) return writeInt32;
  switch (field.scalar) {
    case ScalarType.STRING:
      return (writer, value) => {
        writer.string(String(value));
      };
    case ScalarType.BOOL:
      return (writer, value) => {
        writer.bool(value === true);
      };
    case ScalarType.INT32:
      return writeInt32;
    default:
      return undefined;
  }
}

function writeInt32(writer: BinaryWriter, value: unknown): void {
  writer.int32(Number(value));
}

/** The named place where the value of a Struct field is taken for the JSON object that it is. */
function asJsonObject(value: unknown): JsonObject {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return value as JsonObject;
}
