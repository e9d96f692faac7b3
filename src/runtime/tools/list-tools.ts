import { indexAfterCursor, PAGE_SIZE, pageFrom } from "./pages.ts";
import type { ListedTool } from "./session-tools.ts";

export interface SessionToolPage {
  readonly tools: readonly ListedTool[];
  readonly nextCursor: string | undefined;
}

export interface ToolPages {
  /**
   * Returns the page after the cursor, or the first page. Returns the same object for the same list. Throws `invalid`
   * for an unknown cursor.
   */
  page(tools: readonly ListedTool[], cursor: string | undefined): SessionToolPage;
}

export function createToolPages(): ToolPages {
  const cached = new WeakMap<readonly ListedTool[], Map<number, SessionToolPage>>();
  return {
    page(tools, cursor) {
      const start = indexAfterCursor(tools, nameOf, cursor);
      const pages = cached.get(tools) ?? new Map<number, SessionToolPage>();
      cached.set(tools, pages);
      const known = pages.get(start);
      if (known !== undefined) return known;
      const { items, nextCursor } = pageFrom(tools, nameOf, start);
      const page = { tools: items, nextCursor };
      // Only regular pages are cached: a cursor from an older list can start a page at any index.
      if (start % PAGE_SIZE === 0) pages.set(start, page);
      return page;
    },
  };
}

function nameOf({ name }: ListedTool): string {
  return name;
}
