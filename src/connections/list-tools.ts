import type { Principal } from "../identity/principal.ts";
import { DomainError } from "../domain-error.ts";
import { checkPage, DEFAULT_PAGE, type PageQuery } from "../page.ts";
import type { Connection } from "./connection.ts";
import { isVisible, type ConnectionTool, type ConnectionTools } from "./connection-tools.ts";

export interface ToolQuery extends PageQuery {
  /** Includes tools that are not visible; needs `mgmt.write`. */
  readonly includeDisabled?: boolean | undefined;
}

/** Sorted by name. */
export interface ToolPage {
  readonly tools: readonly ConnectionTool[];
  /** The number of tools on all pages, after filtering. */
  readonly totalCount: number;
  /** Undefined if no page was requested and all tools fit. */
  readonly page: { readonly limit: number; readonly offset: number; readonly hasMore: boolean } | undefined;
}

/** Lists the tools that the principal may use (DESIGN §6 «tool pages»). */
export async function listTools(
  tools: ConnectionTools,
  principal: Principal,
  connection: Connection,
  query: ToolQuery,
): Promise<ToolPage> {
  checkPage(query);
  if (query.includeDisabled === true && !principal.scopes.has("mgmt.write") && !principal.scopes.has("mgmt.admin")) {
    throw new DomainError("forbidden", "You do not have permission to access this connection.");
  }
  const all = await tools.of(connection);
  const shown = query.includeDisabled === true ? all : all.filter((tool) => isVisible(principal, connection, tool));
  const totalCount = shown.length;
  if (query.limit === undefined && query.offset === undefined && totalCount <= DEFAULT_PAGE) {
    return { tools: shown, totalCount, page: undefined };
  }
  const limit = query.limit ?? DEFAULT_PAGE;
  const offset = query.offset ?? 0;
  return {
    tools: shown.slice(offset, offset + limit),
    totalCount,
    page: { limit, offset, hasMore: offset + limit < totalCount },
  };
}
