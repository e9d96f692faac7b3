import { create, toJson, type DescField, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { asMessage, fieldValue, holdsStruct, isStructField, mapValues, memberName } from "../message-fields.ts";

/** Turns a message, or what `create` would make one of, into its JSON object. */
export type MessageWriter = (message: object) => JsonObject;

/**
 * Makes the writer of a message type: proto JSON with every implicit field present. protobuf-es writes it all but Struct
 * fields, which go out as they are: it would make doubles of their numbers.
 */
export function createMessageWriter(desc: DescMessage): MessageWriter {
  return writerOf(desc, new Map());
}

function writerOf(desc: DescMessage, known: Map<DescMessage, MessageWriter>): MessageWriter {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const exact = new Map<DescField, (value: unknown) => JsonValue>();
  const writer: MessageWriter = (message) => {
    if (exact.size === 0) return writePlain(desc, { ...message });
    const left = new Set([...exact.keys()].filter((field) => fieldValue(message, field) !== undefined).map(memberName));
    // Nor its type's name, by which protobuf-es would take it for whole.
    left.add("$typeName");
    const plain = writePlain(desc, Object.fromEntries(Object.entries(message).filter(([name]) => !left.has(name))));
    const json: JsonObject = {};
    for (const field of desc.fields) {
      const write = exact.get(field);
      const value = write && fieldValue(message, field);
      if (write !== undefined && value !== undefined) json[field.jsonName] = asJson(mapValues(field, value, write));
      else if (field.jsonName in plain) json[field.jsonName] = plain[field.jsonName] ?? null;
    }
    return json;
  };
  known.set(desc, writer);
  for (const field of desc.fields) {
    if (isStructField(field)) exact.set(field, asJson);
    else if (field.message !== undefined && holdsStruct(field.message)) {
      const write = writerOf(field.message, known);
      exact.set(field, (value) => write(asMessage(value)));
    }
  }
  return writer;
}

function writePlain(desc: DescMessage, message: MessageInitShape<DescMessage>): JsonObject {
  const json = toJson(desc, create(desc, message), { alwaysEmitImplicit: true });
  if (!isJsonObject(json)) throw new TypeError(`${desc.typeName} is no object in JSON`);
  return json;
}

/** The named place where the value of a Struct field, or JSON made of it, is taken for the JSON that it is. */
function asJson(value: unknown): JsonValue {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return value as JsonValue;
}
