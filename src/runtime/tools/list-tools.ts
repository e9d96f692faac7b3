import { indexAfterCursor, PAGE_SIZE, pageFrom } from "./pages.ts";
import type { ListedTool } from "./session-tools.ts";

/** A page of tools, by name. */
export interface ToolPage {
  readonly tools: readonly ListedTool[];
  /** Undefined on the last page. */
  readonly nextCursor: string | undefined;
}

/** Pages of tool lists, cached. */
export interface ToolPages {
  /** The page after the cursor, or the first one; the same object for the same list. Throws `invalid` for a cursor that is not ours. */
  page(tools: readonly ListedTool[], cursor: string | undefined): ToolPage;
}

export function createToolPages(): ToolPages {
  const cached = new WeakMap<readonly ListedTool[], Map<number, ToolPage>>();
  return {
    page(tools, cursor) {
      const start = indexAfterCursor(tools, nameOf, cursor);
      const pages = cached.get(tools) ?? new Map<number, ToolPage>();
      cached.set(tools, pages);
      const known = pages.get(start);
      if (known !== undefined) return known;
      const { items, nextCursor } = pageFrom(tools, nameOf, start);
      const page = { tools: items, nextCursor };
      // Cursors of older lists begin a page anywhere; caching those pages would cost a list each.
      if (start % PAGE_SIZE === 0) pages.set(start, page);
      return page;
    },
  };
}

function nameOf({ name }: ListedTool): string {
  return name;
}
