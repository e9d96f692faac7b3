import type { DescMessage } from "@bufbuild/protobuf";
import { roundNumbers, type JsonObject } from "../../json.ts";
import { asMessage, fieldValue, holdsStruct, isStructField, mapValues, setField } from "./message-fields.ts";

/**
 * Makes a function that rounds exact numbers in the Struct fields of a message, in place: a protobuf Struct holds
 * doubles alone, and an answer cannot be refused as a request can. Undefined when the type holds no Struct.
 */
export function createRounder(desc: DescMessage): ((message: object) => void) | undefined {
  return holdsStruct(desc) ? (message) => roundStructs(desc, message) : undefined;
}

function roundStructs(desc: DescMessage, message: object): void {
  for (const field of desc.fields) {
    const value = fieldValue(message, field);
    if (field.message === undefined || value === undefined) continue;
    if (isStructField(field)) setField(message, field, mapValues(field, value, roundObject));
    else if (holdsStruct(field.message)) {
      const nested = field.message;
      mapValues(field, value, (each) => roundStructs(nested, asMessage(each)));
    }
  }
}

/** The named place where the value of a Struct field is taken for the JSON object that it is. */
function roundObject(value: unknown): JsonObject {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return roundNumbers(value as JsonObject);
}
