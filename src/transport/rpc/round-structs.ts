import type { DescMessage } from "@bufbuild/protobuf";
import { roundNumbers, type JsonObject } from "../../json.ts";
import { asMessage, fieldValue, holdsStruct, isStructField, mapValues, setField } from "./message-fields.ts";

export type Rounder = (message: object) => void;

/**
 * Creates a function that rounds exact numbers in the Struct fields of a message, in place: a protobuf Struct contains
 * doubles, and a response, unlike a request, cannot be rejected. Returns undefined if the type contains no Struct.
 */
export function createRounder(desc: DescMessage): Rounder | undefined {
  return holdsStruct(desc) ? rounderOf(desc, new Map()) : undefined;
}

function rounderOf(desc: DescMessage, known: Map<DescMessage, Rounder>): Rounder {
  const existing = known.get(desc);
  if (existing !== undefined) return existing;
  const fields: Rounder[] = [];
  const rounder: Rounder = (message) => {
    for (const round of fields) round(message);
  };
  known.set(desc, rounder);
  for (const field of desc.fields) {
    if (field.message === undefined || !(isStructField(field) || holdsStruct(field.message))) continue;
    const round = isStructField(field) ? undefined : rounderOf(field.message, known);
    fields.push((message) => {
      const value = fieldValue(message, field);
      if (value === undefined) return;
      if (round === undefined) setField(message, field, mapValues(field, value, roundObject));
      else mapValues(field, value, (each) => round(asMessage(each)));
    });
  }
  return rounder;
}

/** The only place that treats a Struct value as a JSON object. */
function roundObject(value: unknown): JsonObject {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return roundNumbers(value as JsonObject);
}
