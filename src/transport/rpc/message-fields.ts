import type { DescField, DescMessage } from "@bufbuild/protobuf";

/** The value of a field in a message or in what `create` would make one of. Undefined when it is not set. */
export function fieldValue(message: object, field: DescField): unknown {
  const value = asRecord(message)[memberName(field)];
  if (field.oneof === undefined) return value;
  const { case: member, value: held } = asRecord(value ?? {});
  return member === field.localName ? held : undefined;
}

/** Sets a field. */
export function setField(message: object, field: DescField, value: unknown): void {
  Reflect.set(message, memberName(field), field.oneof === undefined ? value : { case: field.localName, value });
}

/** The name of the member that holds a field: its own, or that of the oneof that it is a case of. */
export function memberName(field: DescField): string {
  return field.oneof?.localName ?? field.localName;
}

/** A field's value with each of its single values replaced: of a list its items, of a map its values. */
export function mapValues(field: DescField, value: unknown, replace: (single: unknown) => unknown): unknown {
  if (field.fieldKind === "list") return Array.isArray(value) ? value.map(replace) : [];
  if (field.fieldKind !== "map") return replace(value);
  return Object.fromEntries(Object.entries(asRecord(value ?? {})).map(([key, single]) => [key, replace(single)]));
}

/** A single value of a message field. */
export function asMessage(value: unknown): object {
  if (typeof value !== "object" || value === null) throw new TypeError("a message field holds no message");
  return value;
}

/** Whether the values of a field are google.protobuf.Struct: protobuf-es keeps those as plain JSON objects. */
export function isStructField(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Struct";
}

/** Whether the values of a field are google.protobuf.Timestamp. */
export function isTimestampField(field: DescField): boolean {
  return field.message?.typeName === "google.protobuf.Timestamp";
}

/** Whether a message can hold a Struct, itself or in a message below it. */
export function holdsStruct(desc: DescMessage, seen: readonly DescMessage[] = []): boolean {
  if (seen.includes(desc)) return false;
  return desc.fields.some(
    (field) => isStructField(field) || (field.message !== undefined && holdsStruct(field.message, [...seen, desc])),
  );
}

/** The named place where a generated message is looked at by field name. */
function asRecord(message: object): Readonly<Record<string, unknown>> {
  // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- the one place that may, for the reason above.
  return message as Readonly<Record<string, unknown>>;
}
