import { LRUCache } from "lru-cache";
import { type Principal, reaches } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import { isVisible, type ConnectionTool, type ConnectionTools } from "../../connections/connection-tools.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import { withinMs } from "../../within-ms.ts";
import { fitToolName, qualifyToolName } from "./tool-name.ts";

/** Tools of all cached views together; an entry of a view costs about 200 bytes. */
const MAX_CACHED_TOOLS = 500_000;

/** A visible tool of one connection in view. */
export interface CallableTool {
  readonly connection: Connection;
  readonly tool: ConnectionTool;
  /** Its name when no other connection offers the same: the upstream's, cut to 64. */
  readonly bareName: string;
  /** `name__<connection id>`, cut to 64. */
  readonly qualifiedName: string;
}

/** The tools that a principal can reach, before any session has its say. */
export interface ToolView {
  /** The offers of each bare name, by connection id. */
  readonly byBareName: ReadonlyMap<string, readonly CallableTool[]>;
  /** The offers of each connection, by bare name. */
  readonly byConnection: ReadonlyMap<number, ReadonlyMap<string, CallableTool>>;
  /** Offers by qualified name, where cutting made it other than the bare name and a suffix. */
  readonly byTruncatedName: ReadonlyMap<string, CallableTool>;
}

/** Which tools principals can reach. */
export interface ToolViews {
  /**
   * The principal's view: the same object until a connection, a tool list or a switch changes. Without a promise when
   * cached. Waits at most `patienceMs` for the very first list of a connection: one slow upstream must not hold up the
   * others for long, and it holds them up once.
   */
  of(principal: Principal, maxWaitMs: number): ToolView | Promise<ToolView>;
}

type ToolList = readonly ConnectionTool[];

interface CachedView {
  readonly connections: readonly Connection[];
  readonly reachable: readonly Connection[];
  readonly lists: readonly ToolList[];
  readonly view: ToolView;
}

/** A first list that is on its way. */
interface PendingList {
  /** Since when it is waited for, monotonic milliseconds. */
  readonly sinceMs: number;
  /** The list, while it is being asked for. */
  list: Promise<ToolList> | undefined;
}

const NO_TOOLS: ToolList = [];

/**
 * Views over the connections and their tools (DESIGN §6 «which connections», «tools: who sees what»).
 *
 * A view is cached for all principals of one account, binding and set of scopes, and valid while the very arrays it was
 * computed from are the current ones.
 */
export function createToolViews(deps: { connections: ConnectionView; tools: ConnectionTools }): ToolViews {
  const cache = new LRUCache<string, CachedView>({
    maxSize: MAX_CACHED_TOOLS,
    sizeCalculation: ({ lists }) => lists.reduce((sum, list) => sum + list.length, 1),
  });
  const keys = new WeakMap<Principal, string>();
  const pendingLists = new WeakMap<Connection, PendingList>();

  function keyOf(principal: Principal): string {
    const known = keys.get(principal);
    if (known !== undefined) return known;
    const key = printKey(principal);
    keys.set(principal, key);
    return key;
  }

  /** The list of a connection, or an empty one while its upstream keeps everybody waiting longer than they would. */
  function listOf(connection: Connection, maxWaitMs: number): ToolList | Promise<ToolList> {
    const known = pendingLists.get(connection);
    const list = known?.list ?? deps.tools.of(connection);
    if (!(list instanceof Promise)) {
      pendingLists.delete(connection);
      return list;
    }
    const first: PendingList = known ?? { sinceMs: performance.now(), list: undefined };
    if (first.list === undefined) {
      first.list = list;
      pendingLists.set(connection, first);
      list.then(
        ({ length }) => {
          first.list = undefined;
          // It is here: the next one is waited for in its own right. An empty one may be all that patience came to.
          if (length > 0) pendingLists.delete(connection);
        },
        () => pendingLists.delete(connection),
      );
    }
    const leftMs = first.sinceMs + maxWaitMs - performance.now();
    return leftMs > 0 ? withinMs(leftMs, list, NO_TOOLS) : NO_TOOLS;
  }

  function viewOf(
    principal: Principal,
    connections: readonly Connection[],
    reachable: readonly Connection[],
    lists: readonly ToolList[],
  ): ToolView {
    const view = computeView(principal, reachable, lists);
    cache.set(keyOf(principal), { connections, reachable, lists, view });
    return view;
  }

  function fromConnections(
    principal: Principal,
    maxWaitMs: number,
    connections: readonly Connection[],
  ): ToolView | Promise<ToolView> {
    const cached = cache.get(keyOf(principal));
    const reachable =
      cached?.connections === connections ? cached.reachable : reachableConnections(principal, connections);
    const lists = reachable.map((connection) => listOf(connection, maxWaitMs));
    const viewFor = (loaded: readonly ToolList[]): ToolView => {
      const unchanged = cached?.reachable === reachable && loaded.every((list, index) => list === cached.lists[index]);
      return unchanged ? cached.view : viewOf(principal, connections, reachable, loaded);
    };
    const ready = lists.filter(isReady);
    return ready.length < lists.length ? Promise.all(lists.map(async (list) => list)).then(viewFor) : viewFor(ready);
  }

  return {
    of(principal, maxWaitMs) {
      const connections = deps.connections.ofAccount(principal.accountId);
      if (!(connections instanceof Promise)) return fromConnections(principal, maxWaitMs, connections);
      return connections.then((loaded) => fromConnections(principal, maxWaitMs, loaded));
    },
  };
}

function printKey({ accountId, connectionId, connectionIds, grantId, scopes }: Principal): string {
  // What a grant reaches never changes.
  return `${accountId} ${connectionId ?? "*"} ${connectionIds === undefined ? "*" : grantId} ${[...scopes].sort().join(" ")}`;
}

function isReady(list: ToolList | Promise<ToolList>): list is ToolList {
  return !(list instanceof Promise);
}

/** The agent-enabled connections of the account that the principal reaches. */
function reachableConnections(principal: Principal, connections: readonly Connection[]): readonly Connection[] {
  return connections.filter((connection) => connection.agentEnabled && reaches(principal, connection.id));
}

function computeView(principal: Principal, reachable: readonly Connection[], lists: readonly ToolList[]): ToolView {
  const byBareName = new Map<string, CallableTool[]>();
  const byConnection = new Map<number, ReadonlyMap<string, CallableTool>>();
  const byTruncatedName = new Map<string, CallableTool>();
  for (const [index, connection] of reachable.entries()) {
    const own = new Map<string, CallableTool>();
    for (const tool of lists[index] ?? NO_TOOLS) {
      const { name } = tool.definition;
      const bareName = fitToolName(name);
      // An upstream that lists a name twice offers it once.
      if (own.has(bareName) || !isVisible(principal, connection, tool)) continue;
      const qualifiedName = qualifyToolName(name, connection.id);
      const callable = { connection, tool, bareName, qualifiedName };
      own.set(bareName, callable);
      if (qualifiedName !== `${bareName}__${connection.id}`) byTruncatedName.set(qualifiedName, callable);
      const others = byBareName.get(bareName);
      if (others === undefined) byBareName.set(bareName, [callable]);
      else others.push(callable);
    }
    byConnection.set(connection.id, own);
  }
  return { byBareName, byConnection, byTruncatedName };
}
