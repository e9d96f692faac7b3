import { isJsonObject } from "../../json.ts";

/** The part of a value that a check may inspect. */
export interface ValueSize {
  /** Number of nodes, including the value itself. */
  readonly places: number;
  /** Number of characters in keys and strings. */
  readonly characters: number;
}

/** Measures a value down to a depth, level by level and without recursion. Stops early once `isEnough`. */
export function measureValue(value: unknown, depth: number, isEnough: (size: ValueSize) => boolean): ValueSize {
  const size = { places: 0, characters: 0 };
  let level: unknown[] = [value];
  for (let at = 0; at <= depth && level.length > 0; at += 1) {
    const below: unknown[] = [];
    for (const each of level) {
      size.places += 1;
      if (typeof each === "string") size.characters += each.length;
      else if (at === depth) continue;
      else if (Array.isArray(each)) for (const item of each) below.push(item);
      else if (isJsonObject(each)) {
        for (const key of Object.keys(each)) {
          size.characters += key.length;
          below.push(each[key]);
        }
      }
      // Nested values are counted at their own level. A large number of values ends the measurement.
      const next = { places: size.places + below.length, characters: size.characters };
      if (below.length > 1_000 && isEnough(next)) return next;
      if (size.places % 64 === 0 && isEnough(size)) return size;
    }
    if (isEnough(size)) return size;
    level = below;
  }
  return size;
}
