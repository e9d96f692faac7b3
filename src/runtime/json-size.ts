import { isJsonObject, type JsonValue } from "../json.ts";

/**
 * About how many bytes a JSON value takes when written, without writing it: strings count their UTF-16 units.
 *
 * Walks with a list of its own, since values of upstreams may be nested deeper than the stack.
 */
export function jsonSize(value: JsonValue): number {
  let bytes = 0;
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === "string") bytes += next.length + 2;
    else if (Array.isArray(next)) {
      bytes += 1 + Math.max(1, next.length);
      for (const item of next) open.push(item);
    } else if (isJsonObject(next)) {
      const keys = Object.keys(next);
      bytes += 1 + Math.max(1, keys.length);
      for (const key of keys) {
        bytes += key.length + 3;
        open.push(next[key] ?? null);
      }
    } else if (typeof next === "number") bytes += Number.isSafeInteger(next) ? digits(next) : 18;
    else bytes += next === false ? 5 : 4;
  }
  return bytes;
}

function digits(integer: number): number {
  return integer === 0 ? 1 : Math.floor(Math.log10(Math.abs(integer))) + (integer < 0 ? 2 : 1);
}
