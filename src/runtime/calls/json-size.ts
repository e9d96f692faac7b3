import type { JsonObject, JsonValue } from "../../json.ts";

/** An estimate, because the digits of an exact number are only known after printing it. */
const EXACT_NUMBER_BYTES = 20;

/**
 * Estimates the size of a value as JSON without printing it; strings count UTF-16 units. Uses its own stack, because
 * upstream values can be nested deeper than the call stack allows.
 */
export function jsonSize(value: JsonValue): number {
  const open: (JsonValue[] | JsonObject)[] = [];
  let bytes = 0;

  function count(inner: JsonValue): void {
    if (typeof inner === "string") bytes += inner.length + 2;
    else if (typeof inner === "number") bytes += numberSize(inner);
    else if (typeof inner === "object" && inner !== null) open.push(inner);
    else bytes += inner === false ? 5 : 4;
  }

  count(value);
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (Array.isArray(next)) {
      bytes += 1 + Math.max(1, next.length);
      for (const item of next) count(item);
    } else if (JSON.isRawJSON(next)) bytes += EXACT_NUMBER_BYTES;
    else {
      const keys = Object.keys(next);
      bytes += 1 + Math.max(1, keys.length);
      for (const key of keys) {
        bytes += key.length + 3;
        count(next[key] ?? null);
      }
    }
  }
  return bytes;
}

function numberSize(number: number): number {
  if (!Number.isInteger(number)) return 18;
  let digits = number < 0 ? 2 : 1;
  for (let rest = Math.abs(number); rest >= 10; rest /= 10) digits += 1;
  return digits;
}
