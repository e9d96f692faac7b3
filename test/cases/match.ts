import { isJsonObject, type JsonObject, type JsonValue } from "../../src/json.ts";

/** The values of `${name}` in cases. */
export type Variables = Map<string, JsonValue>;

/** REST always writes three fractional digits of a second; protobuf's own JSON omits them for a whole second. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z$/;

/** Replaces variables. A string that is only a variable becomes its typed value; `${name*255}` repeats a text. */
export function fill(value: JsonValue, variables: Variables): JsonValue {
  if (typeof value === "string") return fillText(value, variables);
  if (Array.isArray(value)) return value.map((item) => fill(item, variables));
  return isJsonObject(value) ? fillObject(value, variables) : value;
}

export function fillObject(value: JsonObject, variables: Variables): JsonObject {
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, fill(item, variables)]));
}

function fillText(text: string, variables: Variables): JsonValue {
  const whole = /^\$\{([a-z_0-9]+)\}$/i.exec(text)?.[1];
  if (whole !== undefined) return variable(whole, variables);
  return text.replaceAll(/\$\{([^}*]+)(?:\*(\d+))?\}/g, (_, name: string, times: string | undefined) =>
    times === undefined ? String(variable(name, variables)) : name.repeat(Number(times)),
  );
}

function variable(name: string, variables: Variables): JsonValue {
  const value = variables.get(name);
  if (value === undefined) throw new Error(`there is no variable ${name}`);
  return value;
}

export function at(value: JsonValue, path: string): JsonValue | undefined {
  return path.split(".").reduce<JsonValue | undefined>((found, key) => {
    if (Array.isArray(found)) return found[Number(key)];
    return isJsonObject(found) ? found[key] : undefined;
  }, value);
}

/**
 * Returns the first difference between a value and the expected one, or undefined. `$any`, `$string`, `$integer`,
 * `$time` and `/pattern/` match values. With `partly`, objects may have additional keys.
 */
export function difference(
  wanted: JsonValue,
  found: JsonValue | undefined,
  partly = false,
  path = "answer",
): string | undefined {
  const unlike = `${path} is ${JSON.stringify(found)} instead of ${JSON.stringify(wanted)}`;
  if (typeof wanted === "string") return stands(wanted, found) ? undefined : unlike;
  if (Array.isArray(wanted)) {
    if (!Array.isArray(found) || found.length !== wanted.length) return unlike;
    return first(wanted.map((item, index) => difference(item, found[index], partly, `${path}[${String(index)}]`)));
  }
  if (!isJsonObject(wanted)) return wanted === found ? undefined : unlike;
  if (!isJsonObject(found)) return unlike;
  const unknownKey = Object.keys(found).find((key) => !(key in wanted));
  if (!partly && unknownKey !== undefined)
    return `${path} has the key ${unknownKey}: ${JSON.stringify(found[unknownKey])}`;
  return first(Object.keys(wanted).map((key) => difference(wanted[key] ?? null, found[key], partly, `${path}.${key}`)));
}

function first(differences: readonly (string | undefined)[]): string | undefined {
  return differences.find((each) => each !== undefined);
}

export function stands(wanted: string, found: JsonValue | undefined): boolean {
  switch (wanted) {
    case "$any":
      return found !== undefined;
    case "$string":
      return typeof found === "string" && found !== "";
    case "$integer":
      return typeof found === "number" && Number.isSafeInteger(found);
    case "$time":
      return typeof found === "string" && TIME.test(found);
    default:
      if (/^\/.+\/$/s.test(wanted))
        return typeof found === "string" && new RegExp(wanted.slice(1, -1), "su").test(found);
      return wanted === found;
  }
}
