import { invalid } from "../../domain-error.ts";
import { MAX_TOOL_NAME_LENGTH } from "./tool-name.ts";
import type { ListedTool } from "../sessions/session-tools.ts";

/** Tools on one page. */
export const TOOL_PAGE_SIZE = 500;

/** A page of tools, by name. */
export interface ToolPage {
  readonly tools: readonly ListedTool[];
  /** Where the next page begins. Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** Pages of listings, cached. */
export interface ToolPages {
  /** The page after the cursor, or the first one. Throws `invalid` for a cursor that is not ours. */
  page(tools: readonly ListedTool[], cursor: string | undefined): ToolPage;
}

/**
 * Pages by the last name seen, not by a count, so that a list that changes in between neither repeats nor skips a tool.
 * A page that was cut before from the same list is the same object.
 */
export function createToolPages(): ToolPages {
  const cut = new WeakMap<readonly ListedTool[], Map<number, ToolPage>>();
  return {
    page(tools, cursor) {
      const start = cursor === undefined ? 0 : indexAfter(tools, parseCursor(cursor));
      const known = cut.get(tools) ?? new Map<number, ToolPage>();
      cut.set(tools, known);
      const page = known.get(start) ?? cutPage(tools, start);
      // Cursors of older lists point anywhere; keeping those pages would cost a list for each.
      if (start % TOOL_PAGE_SIZE === 0) known.set(start, page);
      return page;
    },
  };
}

function cutPage(tools: readonly ListedTool[], start: number): ToolPage {
  const page = tools.slice(start, start + TOOL_PAGE_SIZE);
  const last = page.at(-1);
  const isLast = last === undefined || start + TOOL_PAGE_SIZE >= tools.length;
  return { tools: page, nextCursor: isLast ? undefined : formatCursor(last.name) };
}

/** The index of the first tool whose name follows `name`, by bisection. */
function indexAfter(tools: readonly ListedTool[], name: string): number {
  let low = 0;
  let high = tools.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const tool = tools[middle];
    if (tool !== undefined && tool.name <= name) low = middle + 1;
    else high = middle;
  }
  return low;
}

const CURSOR_PREFIX = "after:";
const CURSOR = /^[A-Za-z0-9_-]{1,1024}$/;

function formatCursor(name: string): string {
  return Buffer.from(CURSOR_PREFIX + name, "utf16le").toString("base64url");
}

function parseCursor(cursor: string): string {
  const text = CURSOR.test(cursor) ? Buffer.from(cursor, "base64url").toString("utf16le") : "";
  const name = text.slice(CURSOR_PREFIX.length);
  // Comparing with what we would have written refuses every other spelling.
  if (!text.startsWith(CURSOR_PREFIX) || name.length > MAX_TOOL_NAME_LENGTH || formatCursor(name) !== cursor) {
    throw invalid("cursor", "cursor must be the nextCursor of an earlier page.");
  }
  return name;
}
