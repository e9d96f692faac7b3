import { createHash } from "node:crypto";

/** In UTF-16 units. */
const MAX_TOOL_NAME_LENGTH = 64;

/** The maximum length of a listed name: with the prefix that a host adds, it still fits into 64 characters. */
const MAX_LISTED_NAME_LENGTH = 50;

const QUALIFIED = /^(.+)__([1-9][0-9]{0,9})$/s;
const SEPARATOR = "__";
const CUT_TAIL = /_[0-9a-f]{8}$/;
const CUT_TAIL_LENGTH = 9;

/**
 * Shortens a name to `limit` UTF-16 units: its beginning, `_` and 8 hex digits of its SHA-256. A short name that looks
 * like a shortened one is shortened too, so that no upstream can claim the name of another tool.
 */
export function fitToolName(name: string, limit: number = MAX_TOOL_NAME_LENGTH): string {
  if (name.length < limit || (name.length === limit && !CUT_TAIL.test(name))) return name;
  return withDigest(name, name, limit);
}

/** Shortens `shown` so that `_` and 8 hex digits of the SHA-256 of `name` fit behind it. */
function withDigest(shown: string, name: string, limit: number): string {
  const digest = createHash("sha256")
    .update(name)
    .digest("hex")
    .slice(0, CUT_TAIL_LENGTH - 1);
  // Removes half of a surrogate pair at the end.
  return `${shown.slice(0, limit - CUT_TAIL_LENGTH).replace(/[\uD800-\uDBFF]$/, "")}_${digest}`;
}

/**
 * Returns the name under which a tool is listed: `^[A-Za-z0-9_-]{1,50}$`, which every host accepts. A name with other
 * characters, or with more than `limit` characters, ends in a digest of the whole, so that it always means the same
 * tool.
 */
export function listedToolName(name: string, limit: number = MAX_LISTED_NAME_LENGTH): string {
  const plain = name.replaceAll(/[^A-Za-z0-9_-]/gu, "_");
  return plain === name && name !== "" ? fitToolName(name, limit) : withDigest(plain, name, limit);
}

/** Returns `<alias>__<name>` as a list shows it. Never has the form `name__<id>`; only the name is shortened. */
export function aliasToolName(name: string, alias: string): string {
  const limit = MAX_LISTED_NAME_LENGTH - alias.length - SEPARATOR.length;
  const listed = `${alias}${SEPARATOR}${listedToolName(name, limit)}`;
  return looksQualified(listed)
    ? `${alias}${SEPARATOR}${withDigest(listedToolName(name, limit), name, limit)}`
    : listed;
}

/** Returns `name__<id>` as a list shows it, where neither the bare name nor the alias may be used. */
export function idToolName(name: string, connectionId: number): string {
  const suffix = `${SEPARATOR}${connectionId}`;
  return listedToolName(name, MAX_LISTED_NAME_LENGTH - suffix.length) + suffix;
}

/** Splits `<alias>__<name>`; undefined for a name without `__` after its first character. */
export function splitAliasName(name: string): { readonly alias: string; readonly name: string } | undefined {
  const at = name.indexOf(SEPARATOR, 1);
  return at === -1 ? undefined : { alias: name.slice(0, at), name: name.slice(at + SEPARATOR.length) };
}

/** Returns `name__<connection id>` with at most 64 units; only the name is shortened. */
export function qualifyToolName(name: string, connectionId: number): string {
  const suffix = `${SEPARATOR}${connectionId}`;
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
