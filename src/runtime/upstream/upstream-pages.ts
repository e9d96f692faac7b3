import { invalid } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";

/** Items on one page. */
const PAGE_SIZE = 500;

/** An item under the name or URI that clients know it by. */
export interface ListedItem {
  readonly key: string;
  readonly item: JsonObject;
}

/** A page of a list that is sorted by key; it begins after the last key of the page before, so that no item is skipped or repeated when the list changes. */
export function pageAfter(
  items: readonly ListedItem[],
  cursor: string | undefined,
): { readonly items: JsonObject[]; readonly nextCursor: string | undefined } {
  const start = cursor === undefined ? 0 : indexAfter(items, parseCursor(cursor));
  const page = items.slice(start, start + PAGE_SIZE);
  const last = page.at(-1);
  const isLast = last === undefined || start + PAGE_SIZE >= items.length;
  return { items: page.map(({ item }) => item), nextCursor: isLast ? undefined : formatCursor(last.key) };
}

/** The index of the first item whose key follows `key`, by bisection. */
function indexAfter(items: readonly ListedItem[], key: string): number {
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && item.key <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

const CURSOR_PREFIX = "after:";
const CURSOR = /^[A-Za-z0-9_-]{1,16384}$/;

function formatCursor(key: string): string {
  return Buffer.from(CURSOR_PREFIX + key, "utf16le").toString("base64url");
}

function parseCursor(cursor: string): string {
  const text = CURSOR.test(cursor) ? Buffer.from(cursor, "base64url").toString("utf16le") : "";
  const key = text.slice(CURSOR_PREFIX.length);
  // Comparing with what we would have written refuses every other spelling.
  if (!text.startsWith(CURSOR_PREFIX) || formatCursor(key) !== cursor) {
    throw invalid("cursor", "cursor must be the nextCursor of an earlier page.");
  }
  return key;
}
