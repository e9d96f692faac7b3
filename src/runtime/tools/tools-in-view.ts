import { LRUCache } from "lru-cache";
import { mayCall, type Principal } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import { isVisible, type ConnectionTool, type ConnectionTools } from "../../connections/connection-tools.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import { withinMs } from "../../within-ms.ts";
import { aliasToolName, fitToolName, idToolName, listedToolName, qualifyToolName } from "./tool-name.ts";

/** Maximum number of tools in all cached views; each takes about 200 bytes. */
const MAX_CACHED_TOOLS = 500_000;

/** A tool that the principal may call. */
export interface CallableTool {
  readonly connection: Connection;
  readonly tool: ConnectionTool;
  /** The name at the upstream, as a list may show it. Listed if no other connection has the same. */
  readonly bareName: string;
  /** `<alias>__<name>`. Listed if other connections have the same name. */
  readonly aliasName: string;
  /** `name__<connection id>`, shortened to 64 units; always accepted in calls. */
  readonly qualifiedName: string;
}

/** The tools that a principal may call, independent of any session. */
export interface ToolView {
  /** Sorted by connection id. */
  readonly byBareName: ReadonlyMap<string, readonly CallableTool[]>;
  /** Connection ids by alias. */
  readonly byAlias: ReadonlyMap<string, number>;
  /** Whether the principal can never see another connection, so that no name needs qualification. */
  readonly isBound: boolean;
  /** Tools of each connection id, by every form of their name. */
  readonly byConnection: ReadonlyMap<number, ReadonlyMap<string, CallableTool>>;
  /** Tools by qualified name, if shortening makes it differ from the bare name with a suffix. */
  readonly byTruncatedName: ReadonlyMap<string, CallableTool>;
}

export interface ToolViews {
  /**
   * Returns the same view until a connection, a tool list or a setting changes, and no promise if that view is cached.
   * Waits at most `maxWaitMs` for the first list of a connection, from the first caller on, so that one slow upstream
   * cannot delay every request.
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

/** The first list of a connection while it is loading. */
interface PendingList {
  /** Start of the wait, in monotonic milliseconds. */
  readonly sinceMs: number;
  list: Promise<ToolList> | undefined;
}

const NO_TOOLS: ToolList = [];

/**
 * Implements DESIGN §6 "which connections" and "tools: who sees what". One view serves all principals with the same
 * account, member, binding and scopes. It stays valid while the arrays that it was computed from are current.
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

  /** Returns an empty list once the first list of the connection has been loading for `maxWaitMs`. */
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
          // A list with tools ends the wait, so the next load gets the full time. An empty list may be the result of a
          // timeout.
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
      cached?.connections === connections ? cached.reachable : callableConnections(principal, connections);
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

function printKey({ accountId, memberId, connectionId, connectionIds, grantId, scopes }: Principal): string {
  // The connections of a grant never change, so its id identifies them.
  return `${accountId} ${memberId ?? "*"} ${connectionId ?? "*"} ${connectionIds === undefined ? "*" : grantId} ${[...scopes].sort().join(" ")}`;
}

function isReady(list: ToolList | Promise<ToolList>): list is ToolList {
  return !(list instanceof Promise);
}

function callableConnections(principal: Principal, connections: readonly Connection[]): readonly Connection[] {
  return connections.filter((connection) => connection.agentEnabled && mayCall(principal, connection.id));
}

/** Adds the other forms of the names: as the upstream writes them, and shortened to fit behind an alias or an id. */
function withOtherForms(own: ReadonlyMap<string, CallableTool>): ReadonlyMap<string, CallableTool> {
  const all = new Map(own);
  for (const callable of own.values()) {
    const { connection, tool, aliasName } = callable;
    const { name } = tool.definition;
    const suffix = `__${connection.id}`;
    const forms = [
      name,
      fitToolName(name),
      aliasName.slice(connection.alias.length + 2),
      idToolName(name, connection.id).slice(0, -suffix.length),
    ];
    for (const form of forms) if (!all.has(form)) all.set(form, callable);
  }
  return all;
}

function computeView(principal: Principal, reachable: readonly Connection[], lists: readonly ToolList[]): ToolView {
  const byBareName = new Map<string, CallableTool[]>();
  const byConnection = new Map<number, ReadonlyMap<string, CallableTool>>();
  const byTruncatedName = new Map<string, CallableTool>();
  const byAlias = new Map<string, number>();
  for (const [index, connection] of reachable.entries()) {
    const own = new Map<string, CallableTool>();
    byAlias.set(connection.alias, connection.id);
    for (const tool of lists[index] ?? NO_TOOLS) {
      const { name } = tool.definition;
      const bareName = listedToolName(name);
      // Keep only the first of several tools with the same name.
      if (own.has(bareName) || !isVisible(principal, connection, tool)) continue;
      const qualifiedName = qualifyToolName(name, connection.id);
      const callable = { connection, tool, bareName, aliasName: aliasToolName(name, connection.alias), qualifiedName };
      own.set(bareName, callable);
      if (qualifiedName !== `${name}__${connection.id}`) byTruncatedName.set(qualifiedName, callable);
      const others = byBareName.get(bareName);
      if (others === undefined) byBareName.set(bareName, [callable]);
      else others.push(callable);
    }
    byConnection.set(connection.id, withOtherForms(own));
  }
  return { byBareName, byConnection, byTruncatedName, byAlias, isBound: principal.connectionId !== undefined };
}
