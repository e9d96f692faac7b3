import type { DescField } from "@bufbuild/protobuf";

/** The value of a field in a message or in what `create` would make one of. Undefined when it is not set. */
export function fieldValue(message: object, field: DescField): unknown {
  return asRecord(message)[field.localName];
}

/** Whether a field is a google.protobuf.Struct, or a list of them: protobuf-es keeps those as plain JSON objects. */
export function isStructField(field: DescField): boolean {
  return field.fieldKind !== "map" && field.message?.typeName === "google.protobuf.Struct";
}

/** The named place where a generated message is looked at by field name. */
function asRecord(message: object): Readonly<Record<string, unknown>> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return message as Readonly<Record<string, unknown>>;
}
