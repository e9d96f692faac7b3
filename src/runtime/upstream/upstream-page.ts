import { LIST_TTL_MS } from "../../integrations/tool.ts";
import { indexAfterCursor, PAGE_SIZE, pageFrom } from "../tools/pages.ts";
import type { FeatureResult } from "./upstream-features.ts";
import type { NamedItem, UpstreamView } from "./upstream-view.ts";

/** A page ends with the item that reaches this length, in UTF-16 units: the entry of a skill can name 512 files. */
const MAX_PAGE_LENGTH = 1024 * 1024;

/** Returns the page of a list after the cursor, or its first page. Throws `invalid` for an unknown cursor. */
export function listPage(
  key: string,
  items: readonly NamedItem[],
  { sources }: UpstreamView,
  cursor: string | undefined,
): FeatureResult {
  const keyOf = (listed: NamedItem): string => listed.key;
  const start = indexAfterCursor(items, keyOf, cursor);
  const { items: listed, nextCursor } = pageFrom(items, keyOf, start, sizeOfPage(items, start));
  const next = nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(nextCursor)}`;
  const ttlMs = sources.reduce((least, { listing }) => Math.min(least, listing?.ttlMs ?? least), LIST_TTL_MS);
  return { text: `{"${key}":[${listed.map(({ json }) => json).join(",")}]${next}}`, ttlMs };
}

function sizeOfPage(items: readonly NamedItem[], start: number): number {
  let length = 0;
  for (let size = 0; size < PAGE_SIZE; size += 1) {
    const item = items[start + size];
    if (item === undefined || length >= MAX_PAGE_LENGTH) return size;
    length += item.json.length;
  }
  return PAGE_SIZE;
}
