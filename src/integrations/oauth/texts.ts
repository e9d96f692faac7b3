import type { JsonValue } from "../../json.ts";

/** The texts of an array in a metadata document; undefined where there is none. */
export function texts(value: JsonValue | undefined): readonly string[] | undefined {
  if (!Array.isArray(value)) return undefined;
  return value.filter((each) => typeof each === "string");
}
