import { createHash } from "node:crypto";

/** The longest name a tool is listed by, in UTF-16 units. */
export const MAX_TOOL_NAME_LENGTH = 64;

const QUALIFIED = /^(.+)__([1-9][0-9]{0,9})$/s;
const CUT_TAIL = /_[0-9a-f]{8}$/;
const CUT_TAIL_LENGTH = 9;

/**
 * A name of at most `limit` units: the name itself when it fits, else its beginning, `_` and 8 hex digits of its SHA-256.
 *
 * A name that fits but looks like a cut one is cut as well, so that no upstream can claim the cut name of another's tool.
 */
export function fitToolName(name: string, limit: number = MAX_TOOL_NAME_LENGTH): string {
  if (name.length < limit || (name.length === limit && !CUT_TAIL.test(name))) return name;
  const digest = createHash("sha256")
    .update(name)
    .digest("hex")
    .slice(0, CUT_TAIL_LENGTH - 1);
  // A cut through a surrogate pair leaves half a character, which no encoding can carry.
  return `${name.slice(0, limit - CUT_TAIL_LENGTH).replace(/[\uD800-\uDBFF]$/, "")}_${digest}`;
}

/** `name__<connection id>`, at most 64 units: the name is cut, the suffix never. */
export function qualifyToolName(name: string, connectionId: number): string {
  const suffix = `__${connectionId}`;
  return fitToolName(name, MAX_TOOL_NAME_LENGTH - suffix.length) + suffix;
}

/** Whether a name has the form `name__<id>`. Such a name is never listed bare: it could be taken for another's tool. */
export function looksQualified(name: string): boolean {
  return QUALIFIED.test(name);
}

/** The two parts of a qualified name, or undefined when it is not one. */
export function splitQualifiedName(name: string): { readonly name: string; readonly connectionId: number } | undefined {
  const match = QUALIFIED.exec(name);
  const [, bare, id] = match ?? [];
  return bare === undefined || id === undefined ? undefined : { name: bare, connectionId: Number(id) };
}

/** At most 64 printable characters of a name that a caller sent. */
export function printable(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cs}]/gu, "�")
    .slice(0, MAX_TOOL_NAME_LENGTH)
    .toWellFormed();
}
