import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { roundNumbers, type JsonObject } from "../../json.ts";
import { fieldValue, isStructField } from "./message-fields.ts";

/**
 * Makes a function that rounds exact numbers in the Struct fields of a message, in place: a protobuf Struct holds
 * doubles alone, and an answer cannot be refused as a request can. Undefined when the type holds no Struct.
 */
export function createRounder(
  desc: DescMessage,
  seen: readonly DescMessage[] = [],
): ((message: object) => void) | undefined {
  if (seen.includes(desc)) return undefined;
  const rounders = desc.fields.flatMap((field) => roundField(field, [...seen, desc]));
  if (rounders.length === 0) return undefined;
  return (message) => {
    for (const round of rounders) round(message);
  };
}

function roundField(field: DescField, seen: readonly DescMessage[]): ((message: object) => void)[] {
  if (isStructField(field)) {
    return [
      (message) => {
        const value = fieldValue(message, field);
        if (Array.isArray(value)) Reflect.set(message, field.localName, value.map(roundObject));
        else if (value !== undefined) Reflect.set(message, field.localName, roundObject(value));
      },
    ];
  }
  const nested =
    field.fieldKind === "map" || field.message === undefined ? undefined : createRounder(field.message, seen);
  if (nested === undefined) return [];
  return [
    (message) => {
      const value = fieldValue(message, field);
      if (Array.isArray(value)) value.forEach(nested);
      else if (typeof value === "object" && value !== null) nested(value);
    },
  ];
}

/** The named place where the value of a Struct field is taken for the JSON object that it is. */
function roundObject(value: unknown): JsonObject {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return roundNumbers(value as JsonObject);
}
