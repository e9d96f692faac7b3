import { isJsonObject, roundNumbers, type JsonObject, type JsonValue } from "../../../json.ts";

type Check = (value: JsonValue) => boolean;

const isText: Check = (value) => typeof value === "string";
const isNumber: Check = (value) => typeof value === "number";
const areIcons: Check = (value) =>
  Array.isArray(value) && value.every((icon) => isJsonObject(icon) && typeof icon.src === "string");
const areArguments: Check = (value) =>
  Array.isArray(value) && value.every((argument) => isJsonObject(argument) && typeof argument.name === "string");

/** Types that clients require of optional fields. */
const FIELDS: Readonly<Record<string, Check>> = {
  name: isText,
  title: isText,
  description: isText,
  mimeType: isText,
  size: isNumber,
  icons: areIcons,
  arguments: areArguments,
  annotations: isJsonObject,
  _meta: isJsonObject,
};

/** Returns those of the named fields that have a wrong type, each as a member to remove. */
export function wrongFields(value: JsonObject, names: readonly string[]): Record<string, undefined> {
  const wrong = names.filter((name) => {
    const field = value[name];
    return field !== undefined && FIELDS[name]?.(roundNumbers(field)) === false;
  });
  return Object.fromEntries(wrong.map((name) => [name, undefined]));
}

/** Keeps the named fields that have the required type: one wrong field would make clients reject the whole list. */
export function keepFields(value: JsonObject, names: readonly string[]): JsonObject {
  const kept: JsonObject = {};
  for (const name of names) {
    const field = value[name];
    if (field === undefined) continue;
    const rounded = roundNumbers(field);
    if (FIELDS[name]?.(rounded) === true) kept[name] = rounded;
  }
  return kept;
}
