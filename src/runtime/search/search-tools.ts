import { type Principal, reaches } from "../../identity/principal.ts";
import { invalid } from "../../domain-error.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import { isLongerThan } from "../../text-length.ts";
import type { Connection } from "../../connections/connection.ts";
import { isVisible, type ConnectionTool, type ConnectionTools } from "../../connections/connection-tools.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import { withinMs } from "../../within-ms.ts";
import type { RankedPage, ToolRanking } from "./rank-tools.ts";
import { connectionNotFound, reachableId } from "../../identity/server-id.ts";

/** In characters. */
export const MAX_QUERY_LENGTH = 200;

/**
 * Matches what the pattern in the contract rejects. That pattern means the same in the regular expressions of all
 * languages.
 */
const BLANK = /^[\s\p{Cc}]*$/u;
const DEFAULT_LIMIT = 20;
const MAX_LIMIT = 100;
const MAX_OFFSET = 10_000;
/**
 * How long a search waits for the first tool list of a connection, in milliseconds. Lists that load longer are left
 * out.
 */
const LIST_WAIT_MS = 2_000;

export interface ToolSearchQuery {
  readonly q: string;
  readonly serverId?: string | undefined;
  readonly limit?: number | undefined;
  readonly offset?: number | undefined;
}

export interface FoundTool {
  readonly connection: Connection;
  readonly tool: ConnectionTool;
  readonly definition: ToolDefinition;
}

/**
 * Searches the tools that the tool lists of the connections contain. Throws `invalid` for values out of range and
 * `not_found` for a connection that is missing, deleted, foreign or outside the token's binding.
 */
export type ToolSearch = (
  principal: Principal,
  query: ToolSearchQuery,
) => Promise<RankedPage<FoundTool> & { readonly limit: number; readonly offset: number; readonly hasMore: boolean }>;

export interface ToolSearchDeps {
  readonly connections: ConnectionView;
  readonly tools: ConnectionTools;
  readonly ranking: ToolRanking;
}

export function createToolSearch({ connections, tools, ranking }: ToolSearchDeps): ToolSearch {
  async function inView(principal: Principal, serverId: string | undefined): Promise<readonly Connection[]> {
    if (serverId === undefined) {
      return (await connections.ofAccount(principal.accountId)).filter(({ id }) => reaches(principal, id));
    }
    const id = reachableId(principal, serverId);
    const connection = id === undefined ? undefined : await connections.find(principal.accountId, id);
    if (connection === undefined) throw connectionNotFound(serverId);
    return [connection];
  }

  return async (principal, { q, serverId, limit = DEFAULT_LIMIT, offset = 0 }) => {
    checkQuery(q, limit, offset);
    const connectionsToSearch = await inView(principal, serverId);
    const lists = await Promise.all(
      connectionsToSearch.map(async (connection) => {
        const list = tools.of(connection);
        return list instanceof Promise ? withinMs(LIST_WAIT_MS, list, []) : list;
      }),
    );
    const page = await ranking.rank(q, visible(principal, connectionsToSearch, lists), { limit, offset });
    return { ...page, limit, offset, hasMore: offset + page.items.length < page.totalCount };
  };
}

function checkQuery(q: string, limit: number, offset: number): void {
  if (BLANK.test(q) || isLongerThan(q, MAX_QUERY_LENGTH))
    throw invalid("q", `q must be 1 to ${MAX_QUERY_LENGTH} characters, not all of them white space.`);
  if (limit < 1 || limit > MAX_LIMIT) throw invalid("limit", `limit must be from 1 to ${MAX_LIMIT}.`);
  if (offset < 0 || offset > MAX_OFFSET) throw invalid("offset", `offset must be from 0 to ${MAX_OFFSET}.`);
}

function* visible(
  principal: Principal,
  connections: readonly Connection[],
  lists: readonly (readonly ConnectionTool[])[],
): Iterable<FoundTool> {
  for (const [index, connection] of connections.entries()) {
    for (const tool of lists[index] ?? []) {
      if (isVisible(principal, connection, tool)) yield { connection, tool, definition: tool.definition };
    }
  }
}
