import { createHash } from "node:crypto";

/** In UTF-16 units. */
export const MAX_TOOL_NAME_LENGTH = 64;

const QUALIFIED = /^(.+)__([1-9][0-9]{0,9})$/s;
const CUT_TAIL = /_[0-9a-f]{8}$/;
const CUT_TAIL_LENGTH = 9;

/**
 * Shortens a name to `limit` UTF-16 units: its beginning, `_` and 8 hex digits of its SHA-256. A short name that looks
 * like a shortened one is shortened too, so that no upstream can claim the name of another tool.
 */
export function fitToolName(name: string, limit: number = MAX_TOOL_NAME_LENGTH): string {
  if (name.length < limit || (name.length === limit && !CUT_TAIL.test(name))) return name;
  const digest = createHash("sha256")
    .update(name)
    .digest("hex")
    .slice(0, CUT_TAIL_LENGTH - 1);
  // Removes half of a surrogate pair at the end.
  return `${name.slice(0, limit - CUT_TAIL_LENGTH).replace(/[\uD800-\uDBFF]$/, "")}_${digest}`;
}

/** Returns `name__<connection id>` with at most 64 units; only the name is shortened. */
export function qualifyToolName(name: string, connectionId: number): string {
  const suffix = `__${connectionId}`;
  return fitToolName(name, MAX_TOOL_NAME_LENGTH - suffix.length) + suffix;
}

/**
 * Whether a name has the form `name__<id>`. Such a name is never listed bare, because it could refer to the tool of
 * another connection.
 */
export function looksQualified(name: string): boolean {
  return QUALIFIED.test(name);
}

export function splitQualifiedName(name: string): { readonly name: string; readonly connectionId: number } | undefined {
  const match = QUALIFIED.exec(name);
  const [, bare, id] = match ?? [];
  return bare === undefined || id === undefined ? undefined : { name: bare, connectionId: Number(id) };
}

/** Returns at most 64 printable characters, for error messages. */
export function printable(name: string): string {
  return name
    .replace(/[\p{Cc}\p{Cs}]/gu, "�")
    .slice(0, MAX_TOOL_NAME_LENGTH)
    .toWellFormed();
}
