import type { DescField, DescMessage } from "@bufbuild/protobuf";

/** Returns a field's value, also from an argument of `create`. Undefined if it is not set. */
export function fieldValue(message: object, field: DescField): unknown {
  const value = asRecord(message)[memberName(field)];
  if (field.oneof === undefined) return value;
  const { case: member, value: held } = asRecord(value ?? {});
  return member === field.localName ? held : undefined;
}

export function setField(message: object, field: DescField, value: unknown): void {
  Reflect.set(message, memberName(field), field.oneof === undefined ? value : { case: field.localName, value });
}

/** The property that stores a field: its own name, or that of its oneof. */
export function memberName(field: DescField): string {
  return field.oneof?.localName ?? field.localName;
}

/** Maps each single value of a field: the items of a list, the values of a map. */
export function mapValues(field: DescField, value: unknown, replace: (single: unknown) => unknown): unknown {
  if (field.fieldKind === "list") return Array.isArray(value) ? value.map(replace) : [];
  if (field.fieldKind !== "map") return replace(value);
  return Object.fromEntries(Object.entries(asRecord(value ?? {})).map(([key, single]) => [key, replace(single)]));
}

/** Returns the value of a singular message field. */
export function asMessage(value: unknown): object {
  if (typeof value !== "object" || value === null) throw new TypeError("the value of a message field is not a message");
  return value;
}

/** Whether the values of a field are google.protobuf.Struct, which protobuf-es represents as JSON objects. */
export function isStructField(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Struct";
}

/** Whether the values of a field are google.protobuf.Timestamp. */
export function isTimestampField(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Timestamp";
}

/** Whether a message can contain a Struct, directly or nested. */
export function holdsStruct(desc: DescMessage, seen: readonly DescMessage[] = []): boolean {
  if (seen.includes(desc)) return false;
  return desc.fields.some(
    (field) => isStructField(field) || (field.message !== undefined && holdsStruct(field.message, [...seen, desc])),
  );
}

/** The only place that reads a generated message by field name. */
function asRecord(message: object): Readonly<Record<string, unknown>> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return message as Readonly<Record<string, unknown>>;
}
