import { invalid } from "../../domain-error.ts";

/** Items on one page. */
export const PAGE_SIZE = 500;

/** A page of a list that is sorted by key. */
export interface KeyPage<Item> {
  readonly items: readonly Item[];
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/**
 * The index of the first item after the cursor, or 0 without one. Cursors name the last key of a page, not a count, so that a
 * list that changes between two pages neither repeats nor skips an item. Throws `invalid` for a cursor that is not ours.
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

/** The page that begins at an index. */
export function pageFrom<Item>(items: readonly Item[], keyOf: (item: Item) => string, start: number): KeyPage<Item> {
  const page = items.slice(start, start + PAGE_SIZE);
  const last = page.at(-1);
  const isLast = last === undefined || start + PAGE_SIZE >= items.length;
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
  // Base64 has several spellings of the same bytes; only ours is accepted.
  if (!text.startsWith(CURSOR_PREFIX) || formatCursor(key) !== cursor) {
    throw invalid("cursor", "cursor must be the nextCursor of an earlier page.");
  }
  return key;
}
