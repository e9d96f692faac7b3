import { isDeepStrictEqual } from "node:util";
import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Catalog, Integration } from "../../integrations/integration.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { JsonObject } from "../../json.ts";
import type { Connection } from "../connection.ts";
import type { ChangeFeed } from "../change-feed.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { ConnectionTool, ConnectionTools } from "../connection-tools.ts";
import type { ConnectionView } from "../connection-view.ts";
import type { KnownToolList } from "../known-tool-list.ts";
import type { CurrentTools } from "../definitions/current-tools.ts";
import { digestOfList, FRESH_MS, freshMs, restored } from "./stored-tool-list.ts";
import type { StoredToolList, ToolListStore, ToolNames } from "./tool-list-store.ts";

const MAX_LISTS = 10_000;
/** The pause before an unavailable upstream is asked again. */
const PAUSE_MS = 10_000;
/** How long a caller waits for the first list; later ones are served while they are refreshed. */
const FIRST_WAIT_MS = 10_000;
const FETCH_TIMEOUT_MS = 30_000;
/** The delay between a notification and the fetch, in milliseconds. Collects further notifications. */
const REFETCH_DELAY_MS = 250;

export interface ToolListDeps {
  readonly catalog: Catalog;
  readonly view: ConnectionView;
  readonly connections: ConnectionStore;
  readonly lists: ToolListStore;
  readonly names: ToolNames;
  readonly feed: ChangeFeed;
  readonly currentTools: CurrentTools;
  readonly log: { warn(fields: object, message: string): void };
}

/** The cached list of a connection's upstream. The object stays the same while the list does. */
interface Entry {
  readonly connection: Connection;
  readonly list: KnownToolList;
  /** The key version of the last fetch. */
  readonly keyVersion: number;
  /** When to fetch the list again, in milliseconds since 1970. */
  readonly staleAt: number;
}

const EMPTY_LIST: KnownToolList = { digest: "", definitions: [], ids: [], isTransient: false };

/** Lists tools: from the contract for `fixed` integrations, otherwise from the upstream's last response. */
export function createToolLists(deps: ToolListDeps): ConnectionTools {
  const known = new LRUCache<number, Entry>(atMost(MAX_LISTS));
  const loading = new Map<number, Promise<KnownToolList>>();
  /** Connections whose list must be fetched although it is recent. */
  const outdated = new Set<number>();
  const fixed = new Map<string, KnownToolList>();
  /** Lists of `shared` integrations by their definitions, so that connections share them. */
  const sharedLists = new WeakMap<readonly ToolDefinition[], Promise<KnownToolList>>();
  /** The tools of a list with all enabled, which most connections share. */
  const allEnabled = new WeakMap<KnownToolList, readonly ConnectionTool[]>();
  /** The last list of a connection, used when listing fails. */
  const lastShared = new LRUCache<number, { configuration: JsonObject; list: KnownToolList }>(atMost(MAX_LISTS));
  const built = new WeakMap<Connection, { list: KnownToolList; tools: readonly ConnectionTool[] }>();

  deps.feed.onChange(({ connectionId, event }) => {
    if (event === "deleted") {
      for (const integration of deps.catalog.values()) integration.forget?.(connectionId);
    }
    if (event === "deleted" || event === "tools") known.delete(connectionId);
  });
  deps.feed.onGap(() => known.clear());
  for (const integration of deps.catalog.values()) {
    integration.onNotification?.((connectionId, news) => {
      if (news.kind === "list_changed" && news.list === "tools") scheduleFetch(integration, connectionId);
    });
  }

  function toolsOf(connection: Connection, list: KnownToolList): readonly ConnectionTool[] {
    const before = built.get(connection);
    if (before?.list === list) return before.tools;
    if (
      connection.disabledToolIds.length === 0 &&
      connection.knownToolIds === undefined &&
      connection.accessType !== "individual"
    ) {
      const tools = allEnabled.get(list) ?? enabledTools(list);
      allEnabled.set(list, tools);
      return tools;
    }
    const disabled = new Set(connection.disabledToolIds);
    const seen = connection.knownToolIds && new Set(connection.knownToolIds);
    const tools = list.definitions.map((definition, index) => {
      const id = list.ids[index] ?? 0;
      const proposed = list.pending?.get(definition.name);
      return {
        id,
        definition,
        ...(proposed && { proposed }),
        enabled: !disabled.has(id) && (seen === undefined || seen.has(id)),
      };
    });
    built.set(connection, { list, tools });
    if (connection.accessType === "individual")
      adoptNewTools(
        connection,
        list.ids.filter((id) => seen?.has(id) !== true),
      );
    return tools;
  }

  /** Under `individual`, new tools are disabled; storing that shows them in `disabled_tools`. */
  function adoptNewTools(connection: Connection, newIds: readonly number[]): void {
    if (newIds.length === 0) return;
    deps.connections.adoptTools(connection.accountId, connection.id, newIds).catch((error: unknown) => {
      deps.log.warn({ err: error, connectionId: connection.id }, "new tools could not be recorded as disabled");
    });
  }

  async function ofFixed(integration: Integration, connection: Connection): Promise<KnownToolList> {
    const target = { accountId: connection.accountId, connectionId: connection.id, keyVersion: 0, configuration: {} };
    const definitions = await integration.listTools(target, { signal: new AbortController().signal });
    const list = await withIds(definitions, "", false);
    fixed.set(integration.serverType, list);
    return list;
  }

  async function ofShared(integration: Integration, connection: Connection): Promise<KnownToolList> {
    const { accountId, id, configuration } = connection;
    const target = { accountId, connectionId: id, keyVersion: 0, configuration };
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), FETCH_TIMEOUT_MS);
    try {
      const definitions = await integration.listTools(target, { signal: controller.signal });
      const made = sharedLists.get(definitions) ?? withIds(definitions, "", false);
      sharedLists.set(definitions, made);
      // A failure is not cached, so the next caller retries.
      made.catch(() => sharedLists.delete(definitions));
      const list = await made;
      lastShared.set(id, { configuration, list });
      return list;
    } catch (error) {
      deps.log.warn({ err: error, connectionId: id }, "the connection's tools could not be listed");
      const last = lastShared.get(id);
      return isDeepStrictEqual(last?.configuration, configuration) ? (last?.list ?? EMPTY_LIST) : EMPTY_LIST;
    } finally {
      clearTimeout(timer);
    }
  }

  async function withIds(
    unsorted: readonly ToolDefinition[],
    digest: string,
    isTransient: boolean,
  ): Promise<KnownToolList> {
    const definitions = unsorted.toSorted((a, b) => (a.name < b.name ? -1 : 1));
    return { digest, definitions, isTransient, ids: await deps.names.intern(definitions.map(({ name }) => name)) };
  }

  /** Concurrent callers share one load. */
  function load(integration: Integration, connection: Connection): Promise<KnownToolList> {
    const running = loading.get(connection.id);
    if (running !== undefined) return running;
    const started = loadStored(integration, connection).finally(() => loading.delete(connection.id));
    loading.set(connection.id, started);
    return started;
  }

  /** Fetches the list after a notification of the upstream. Other replicas learn of it from the feed. */
  function scheduleFetch(integration: Integration, connectionId: number): void {
    if (outdated.has(connectionId)) return;
    outdated.add(connectionId);
    // Limits an upstream that notifies constantly to a few fetches per second.
    setTimeout(() => {
      const entry = known.get(connectionId);
      if (entry === undefined) outdated.delete(connectionId);
      else void refetch(integration, entry.connection);
    }, REFETCH_DELAY_MS).unref();
  }

  async function refetch(integration: Integration, connection: Connection): Promise<void> {
    try {
      await load(integration, connection);
      // The first load may have started before the notification.
      if (outdated.has(connection.id)) await load(integration, connection);
    } catch (error) {
      deps.log.warn({ err: error, connectionId: connection.id }, "the tool list could not be refreshed");
    }
  }

  async function loadStored(integration: Integration, connection: Connection): Promise<KnownToolList> {
    const stored = await deps.lists.find(connection.accountId, connection.id);
    const storedStaleAt = (stored?.fetchedAt.getTime() ?? 0) + FRESH_MS;
    const isOutdated = outdated.delete(connection.id);
    if (!isOutdated && stored?.keyVersion === connection.keyVersion && storedStaleAt > Date.now()) {
      return keep(connection, restored(integration, stored), storedStaleAt);
    }
    const fetched = await fetchList(integration, connection);
    if (fetched !== undefined) return keep(connection, fetched, Date.now() + freshMs(fetched));
    return keep(connection, stored ? restored(integration, stored) : { tools: [], digest: "" }, Date.now() + PAUSE_MS);
  }

  async function keep(
    connection: Connection,
    { tools, digest }: Pick<StoredToolList, "tools" | "digest">,
    staleAt: number,
  ): Promise<KnownToolList> {
    const before = known.get(connection.id)?.list;
    const list = before?.digest === digest ? before : await withIds(tools, digest, true);
    known.set(connection.id, { connection, list, keyVersion: connection.keyVersion, staleAt });
    return list;
  }

  /** Fetches and stores the list. Returns undefined if the upstream is unavailable. */
  async function fetchList(integration: Integration, connection: Connection): Promise<StoredToolList | undefined> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), FETCH_TIMEOUT_MS);
    try {
      const tools = await integration.listTools(await deps.view.target(connection), { signal: controller.signal });
      const digest = digestOfList(tools);
      const list = { keyVersion: connection.keyVersion, tools, digest, fetchedAt: new Date() };
      await deps.lists.save(connection.accountId, connection.id, list);
      return list;
    } catch (error) {
      deps.log.warn({ err: error, connectionId: connection.id }, "the upstream's tools could not be listed");
      return undefined;
    } finally {
      clearTimeout(timer);
    }
  }

  function ofUpstream(integration: Integration, connection: Connection): KnownToolList | Promise<KnownToolList> {
    const entry = known.get(connection.id);
    if (entry === undefined) return withinFirstWait(load(integration, connection));
    if (entry.staleAt < Date.now() || entry.keyVersion !== connection.keyVersion) {
      load(integration, connection).catch((error: unknown) => {
        deps.log.warn({ err: error, connectionId: connection.id }, "the tool list could not be refreshed");
      });
    }
    return entry.list;
  }

  /** Applies the accepted definitions. */
  function currentToolsOf(connection: Connection, proposed: KnownToolList): ReturnType<ConnectionTools["of"]> {
    const entry = proposed.isTransient ? known.get(connection.id) : undefined;
    // A list fetched with an earlier key may come from an earlier destination.
    const isConfirmed =
      !proposed.isTransient || (entry?.list === proposed && entry.keyVersion === connection.keyVersion);
    const list = deps.currentTools.of(connection, proposed, isConfirmed);
    return list instanceof Promise ? list.then((settled) => toolsOf(connection, settled)) : toolsOf(connection, list);
  }

  function listOf(integration: Integration, connection: Connection): KnownToolList | Promise<KnownToolList> {
    switch (integration.toolSource) {
      case "fixed":
        return fixed.get(integration.serverType) ?? ofFixed(integration, connection);
      case "shared":
        return withinFirstWait(ofShared(integration, connection));
      case "per_connection":
        return ofUpstream(integration, connection);
    }
  }

  return {
    of(connection) {
      const integration = deps.catalog.get(connection.serverType);
      if (integration === undefined) return [];
      const list = listOf(integration, connection);
      if (list instanceof Promise) return list.then((loaded) => currentToolsOf(connection, loaded));
      return currentToolsOf(connection, list);
    },
  };
}

function enabledTools({ definitions, ids, pending }: KnownToolList): readonly ConnectionTool[] {
  return definitions.map((definition, index) => {
    const proposed = pending?.get(definition.name);
    return { id: ids[index] ?? 0, definition, enabled: true, ...(proposed && { proposed }) };
  });
}

/** Returns an empty list after a timeout, so that a hanging upstream does not block its owner's requests. */
async function withinFirstWait(list: Promise<KnownToolList>): Promise<KnownToolList> {
  let timer: NodeJS.Timeout | undefined;
  const nothing = new Promise<KnownToolList>((resolve) => {
    timer = setTimeout(() => resolve(EMPTY_LIST), FIRST_WAIT_MS);
  });
  try {
    return await Promise.race([list, nothing]);
  } finally {
    clearTimeout(timer);
  }
}
