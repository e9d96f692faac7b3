import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";

/** Appended to a shortened text. */
export const CUT_MARK = "… [cut]";
/** Limits the recursion of code that prints the copy. */
const MAX_DEPTH = 32;
/** How many characters after the kept ones are searched for secrets; no encoded secret is longer. */
const SECRET_MARGIN = 128 * 1024;

export interface CutJson<T> {
  readonly value: T;
  /** Whether a part was left out or shortened. */
  readonly isCut: boolean;
}

/** Copies JSON values within one shared limit, in characters of JSON. */
export interface JsonCutter {
  copy(value: JsonValue): JsonValue;
  copyObject(value: JsonObject): JsonObject;
  /** Approximate number of characters that are left. */
  left(): number;
  /** Marks the copy as incomplete when the caller leaves something out. */
  markCut(): void;
  isCut(): boolean;
}

/**
 * Passes every text through `scrub`, which replaces secrets, before shortening it, so that no part of a secret remains.
 * The cost depends on `maxCharacters`, not on the size of the value.
 */
export function createJsonCutter(maxCharacters: number, scrub: (text: string) => string): JsonCutter {
  let left = maxCharacters;
  let isCut = false;

  function copyText(text: string): string {
    const room = Math.max(0, left);
    const seen = text.length > room + SECRET_MARGIN ? text.slice(0, room + SECRET_MARGIN) : text;
    const clean = scrub(seen);
    // The end of a partly scrubbed text may contain the beginning of a secret.
    const whole = seen === text ? clean.length : clean.length - SECRET_MARGIN;
    if (seen === text && clean.length <= room) {
      left -= clean.length + 2;
      return clean;
    }
    isCut = true;
    left = 0;
    return clean.slice(0, Math.max(0, Math.min(room, whole))) + CUT_MARK;
  }

  function copyNumber(value: number | JsonObject): JsonValue {
    const text = JSON.stringify(value);
    left -= text.length;
    const clean = scrub(text);
    return clean === text ? value : clean;
  }

  function copyObject(value: JsonObject, depth: number): JsonObject {
    left -= 2;
    const entries: [string, JsonValue][] = [];
    for (const key of Object.keys(value)) {
      if (left <= 0) {
        isCut = true;
        break;
      }
      const name = copyText(key);
      left -= 2;
      entries.push([name, copy(value[key] ?? null, depth + 1)]);
    }
    return Object.fromEntries(entries);
  }

  function copyArray(value: readonly JsonValue[], depth: number): JsonValue[] {
    left -= 2;
    const items: JsonValue[] = [];
    for (const item of value) {
      if (left <= 0) {
        isCut = true;
        break;
      }
      left -= 1;
      items.push(copy(item, depth + 1));
    }
    return items;
  }

  function copy(value: JsonValue, depth: number): JsonValue {
    if (typeof value === "string") return copyText(value);
    if (typeof value === "number") return copyNumber(value);
    if (typeof value === "object" && value !== null) {
      if (depth >= MAX_DEPTH) {
        isCut = true;
        return CUT_MARK;
      }
      if (Array.isArray(value)) return copyArray(value, depth);
      return isJsonObject(value) ? copyObject(value, depth) : copyNumber(value);
    }
    left -= 5;
    return value;
  }

  return {
    copy: (value) => copy(value, 0),
    copyObject: (value) => copyObject(value, 0),
    left: () => left,
    markCut() {
      isCut = true;
    },
    isCut: () => isCut,
  };
}
