import { invalid } from "../../domain-error.ts";

export const PAGE_SIZE = 500;

export interface KeyPage<Item> {
  readonly items: readonly Item[];
  readonly nextCursor: string | undefined;
}

/**
 * Returns the index of the first item after the cursor, or 0 without a cursor. A cursor contains the last key of a page
 * instead of an index, so a changed list neither repeats nor skips an item. Throws `invalid` for an unknown cursor.
 */
export function indexAfterCursor<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  cursor: string | undefined,
): number {
  if (cursor === undefined) return 0;
  const key = parseCursor(cursor);
  let low = 0;
  let high = items.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const item = items[middle];
    if (item !== undefined && keyOf(item) <= key) low = middle + 1;
    else high = middle;
  }
  return low;
}

export function pageFrom<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
  start: number,
  size: number = PAGE_SIZE,
): KeyPage<Item> {
  const page = items.slice(start, start + size);
  const last = page.at(-1);
  const isLast = last === undefined || start + size >= items.length;
  return { items: page, nextCursor: isLast ? undefined : formatCursor(keyOf(last)) };
}

const CURSOR_PREFIX = "after:";
const CURSOR = /^[A-Za-z0-9_-]{1,16384}$/;

function formatCursor(key: string): string {
  return Buffer.from(CURSOR_PREFIX + key, "utf16le").toString("base64url");
}

function parseCursor(cursor: string): string {
  const text = CURSOR.test(cursor) ? Buffer.from(cursor, "base64url").toString("utf16le") : "";
  const key = text.slice(CURSOR_PREFIX.length);
  // Several base64url texts decode to the same bytes; only the one that we write is accepted.
  if (!text.startsWith(CURSOR_PREFIX) || formatCursor(key) !== cursor) {
    throw invalid("cursor", "cursor must be the nextCursor of an earlier page.");
  }
  return key;
}
