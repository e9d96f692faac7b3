import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Principal } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { Catalog } from "../../integrations/integration.ts";
import type { ResourceWatch } from "../../integrations/features.ts";
import type { Notification } from "../../integrations/relay.ts";
import type { JsonObject } from "../../json.ts";
import type { WarnLog } from "../../log.ts";
import { withinMs } from "../../within-ms.ts";
import { clientUri, resolveResource } from "./resolve-upstream.ts";
import type { NotificationFilter } from "./upstream-features.ts";
import type { NamedItem, Source, UpstreamView } from "./upstream-view.ts";
import type { UpstreamViews } from "./upstream-views.ts";

/** How long a check waits for listings, and a subscriber for the upstreams, in milliseconds. */
const WAIT_MS = 10_000;

export interface ChangeFollowerDeps {
  readonly views: UpstreamViews;
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly log: WarnLog;
}

/** Detects changes of the visible listings for one open stream. */
export interface ChangeFollower {
  /** Compares the listings with the last check and sends notifications. Never rejects. */
  check(): Promise<void>;
  /**
   * Checks, and resolves when the upstreams have accepted or refused the subscriptions, within 20 seconds. Never rejects.
   */
  settle(): Promise<void>;
  stop(): void;
}

/** Subscriptions at one upstream. */
interface Watch {
  readonly connection: Connection;
  /** The URIs that the client knows, by the URI at the upstream. */
  readonly clientUris: ReadonlyMap<string, readonly string[]>;
  readonly resources: ResourceWatch;
}

/** A listener for changes of one upstream's lists. */
interface Listener {
  readonly connection: Connection;
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
  let checking: Promise<void> | undefined;
  let mustRepeat = false;
  let isStopped = false;
  const watches = new Map<number, Watch>();
  const listeners = new Map<number, Listener>();

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
    const isSame = (list: "resources" | "resourceTemplates" | "prompts" | "skills"): boolean =>
      digestOf(before[list]) === digestOf(now[list]);
    // Skills have no notification of their own; their files are resources.
    if (filter.resourcesListChanged && !(isSame("resources") && isSame("resourceTemplates") && isSame("skills")))
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
        listeners.set(connection.id, { connection, stop: features.watchLists(target, () => {}) });
    }
  }

  /** Keeps unchanged watches. A new one starts before the old one stops, so that common subscriptions continue. */
  async function updateWatches(view: UpstreamView): Promise<void> {
    const wanted = subscribed(view, filter.resourceUris);
    const kept = new Set<number>();
    for (const [source, clientUris] of wanted) {
      const { connection } = source;
      const known = watches.get(connection.id);
      const isSame = known?.connection.keyVersion === connection.keyVersion;
      if (known !== undefined && isSame && isDeepStrictEqual(known.clientUris, clientUris)) {
        kept.add(connection.id);
        continue;
      }
      const target = await deps.connections.target(connection);
      if (isStopped) return;
      const features = deps.catalog.get(connection.serverType)?.features;
      if (features === undefined) continue;
      const resources = features.watchResources(target, [...clientUris.keys()], filter.client, (uri) =>
        notifyUpdated(source, clientUris, uri),
      );
      known?.resources.stop();
      watches.set(connection.id, { connection, clientUris, resources });
      kept.add(connection.id);
    }
    for (const [id, { resources }] of watches) {
      if (kept.has(id)) continue;
      resources.stop();
      watches.delete(id);
    }
  }

  /** An upstream may report a change of a subresource under its own URI. */
  function notifyUpdated(source: Source, known: Watch["clientUris"], uri: string): void {
    const named = known.get(uri) ?? (seen !== undefined && isWithin(uri, known) ? [clientUri(seen, source, uri)] : []);
    for (const subscribedUri of named) notify("notifications/resources/updated", { uri: subscribedUri });
  }

  async function checkAll(): Promise<void> {
    mustRepeat = false;
    await checkOnce().catch((error: unknown) => {
      deps.log.warn({ err: error }, "could not check upstream listings for changes");
    });
    await repeatIfNeeded();
  }

  async function repeatIfNeeded(): Promise<void> {
    if (mustRepeat && !isStopped) await checkAll();
    else checking = undefined;
  }

  async function check(): Promise<void> {
    if (isStopped) return;
    // A change during the check triggers one more check.
    mustRepeat = checking !== undefined;
    checking ??= checkAll();
    await checking;
  }

  return {
    check,
    async settle() {
      await check();
      const all = Promise.all([...watches.values()].map(({ resources }) => resources.settled));
      await withinMs(WAIT_MS, all, undefined);
    },
    stop() {
      isStopped = true;
      for (const { resources } of watches.values()) resources.stop();
      for (const { stop } of listeners.values()) stop();
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

/** Whether a resource lies below a subscribed one. The session of the subscription may report others as well. */
function isWithin(uri: string, known: ReadonlyMap<string, unknown>): boolean {
  return [...known.keys()].some(
    (parent) => uri.startsWith(parent) && (parent.endsWith("/") || "/?#".includes(uri.charAt(parent.length))),
  );
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
