import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Principal } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { Catalog } from "../../integrations/integration.ts";
import type { Notification } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";
import type { WarnLog } from "../../log.ts";
import { clientUri, resolveResource } from "./resolve-upstream.ts";
import type { NotificationFilter } from "./upstream-features.ts";
import type { NamedItem, Source, UpstreamView } from "./upstream-view.ts";
import type { UpstreamViews } from "./upstream-views.ts";

/** How long a check waits for listings, in milliseconds. */
const WAIT_MS = 10_000;

export interface ChangeFollowerDeps {
  readonly views: UpstreamViews;
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly log: WarnLog;
}

/** Detects changes of the visible listings for one open stream. */
export interface ChangeFollower {
  /** Compares the listings with the last check and sends notifications. Never throws. */
  check(): void;
  stop(): void;
}

/** A stream to one upstream for the subscribed resources. */
interface Watch {
  readonly connection: Connection;
  /** The URIs that the client knows, by the URI at the upstream. */
  readonly clientUris: ReadonlyMap<string, readonly string[]>;
  readonly stop: () => void;
}

/** Reads `filter` again at each check. */
export function createChangeFollower(
  deps: ChangeFollowerDeps,
  principal: Principal,
  filter: NotificationFilter,
  onNotification: (notification: Notification) => void,
): ChangeFollower {
  let seen: UpstreamView | undefined;
  let isChecking = false;
  let mustRepeat = false;
  let isStopped = false;
  const watches = new Map<number, Watch>();
  const listeners = new Map<number, Pick<Watch, "connection" | "stop">>();

  function notify(method: string, params: JsonObject = {}): void {
    if (!isStopped) onNotification({ method, params });
  }

  async function checkOnce(): Promise<void> {
    const view = await deps.views.of(principal, WAIT_MS);
    if (isStopped) return;
    const before = seen;
    seen = view;
    if (before !== undefined && before !== view) notifyLists(before, view);
    await updateListeners(view);
    await updateWatches(view);
  }

  function notifyLists(before: UpstreamView, now: UpstreamView): void {
    const isSame = (list: "resources" | "resourceTemplates" | "prompts"): boolean =>
      digestOf(before[list]) === digestOf(now[list]);
    if (filter.resourcesListChanged && !(isSame("resources") && isSame("resourceTemplates")))
      notify("notifications/resources/list_changed");
    if (filter.promptsListChanged && !isSame("prompts")) notify("notifications/prompts/list_changed");
  }

  /** Opens streams to upstreams that report list changes. The listings receive these reports and trigger the next check. */
  async function updateListeners(view: UpstreamView): Promise<void> {
    const announcing = view.sources.filter(({ listing }) => listing?.capabilities.listChanged === true);
    const keys = new Map(announcing.map(({ connection }) => [connection.id, connection.keyVersion]));
    for (const [id, { connection, stop }] of listeners) {
      if (keys.get(id) === connection.keyVersion) continue;
      stop();
      listeners.delete(id);
    }
    for (const { connection } of announcing) {
      if (listeners.has(connection.id)) continue;
      const target = await deps.connections.target(connection);
      const features = deps.catalog.get(connection.serverType)?.features;
      if (isStopped) return;
      if (features !== undefined)
        listeners.set(connection.id, { connection, stop: features.watch(target, [], () => {}) });
    }
  }

  /** Keeps streams with unchanged subscriptions, closes the others and opens missing ones. */
  async function updateWatches(view: UpstreamView): Promise<void> {
    const wanted = subscribed(view, filter.resourceUris);
    for (const [id, watch] of watches) {
      const source = view.sources.find(({ connection }) => connection.id === id);
      const isSame = source?.connection.keyVersion === watch.connection.keyVersion;
      if (source !== undefined && isSame && isDeepStrictEqual(wanted.get(source), watch.clientUris)) continue;
      watch.stop();
      watches.delete(id);
    }
    for (const [source, clientUris] of wanted) {
      const { connection } = source;
      if (watches.has(connection.id)) continue;
      const target = await deps.connections.target(connection);
      if (isStopped) return;
      const features = deps.catalog.get(connection.serverType)?.features;
      if (features === undefined) continue;
      const stop = features.watch(target, [...clientUris.keys()], (event) => {
        if (event.kind === "updated") notifyUpdated(source, clientUris, event.uri);
      });
      watches.set(connection.id, { connection, clientUris, stop });
    }
  }

  /** An upstream may report a change of a subresource under its own URI. */
  function notifyUpdated(source: Source, known: Watch["clientUris"], uri: string): void {
    const named = known.get(uri) ?? (seen === undefined ? [] : [clientUri(seen, source, uri)]);
    for (const subscribedUri of named) notify("notifications/resources/updated", { uri: subscribedUri });
  }

  function check(): void {
    if (isStopped) return;
    // A change during the check triggers one more check.
    mustRepeat = isChecking;
    if (isChecking) return;
    isChecking = true;
    checkOnce()
      .catch((error: unknown) => {
        deps.log.warn({ err: error }, "could not check upstream listings for changes");
      })
      .finally(() => {
        isChecking = false;
        if (mustRepeat) check();
      });
  }

  return {
    check,
    stop() {
      isStopped = true;
      for (const { stop } of [...watches.values(), ...listeners.values()]) stop();
      watches.clear();
      listeners.clear();
    },
  };
}

/** Returns the URIs that the client knows, by source and by the URI at the upstream. */
function subscribed(view: UpstreamView, uris: ReadonlySet<string>): Map<Source, Map<string, string[]>> {
  const wanted = new Map<Source, Map<string, string[]>>();
  for (const uri of uris) {
    const resolved = tryResolve(view, uri);
    if (resolved?.source.listing?.capabilities.subscribe !== true) continue;
    const own = wanted.get(resolved.source) ?? new Map<string, string[]>();
    wanted.set(resolved.source, own);
    own.set(resolved.key, [...(own.get(resolved.key) ?? []), uri]);
  }
  return wanted;
}

function tryResolve(view: UpstreamView, uri: string): ReturnType<typeof resolveResource> | undefined {
  try {
    return resolveResource(view, uri);
  } catch {
    // No single connection owns the URI now; a later check may find one.
    return undefined;
  }
}

function digestOf(list: readonly NamedItem[]): string {
  return createHash("sha256").update(JSON.stringify(list)).digest("base64url");
}
