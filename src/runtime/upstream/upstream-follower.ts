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
import type { Interest } from "./upstream-features.ts";
import type { ListedItem, Source, UpstreamView } from "./upstream-view.ts";
import type { UpstreamViews } from "./upstream-views.ts";

/** How long a look waits for offers, in milliseconds. */
const PATIENCE_MS = 10_000;

/** What a follower needs. */
export interface FollowerDeps {
  readonly views: UpstreamViews;
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly log: WarnLog;
}

/** Whoever follows the offers in view for one open stream. */
export interface Follower {
  /** Looks whether anything has changed, and says so. Never throws. */
  look(): void;
  stop(): void;
}

/** A stream of ours to one upstream, for the resources that one follower subscribed to. */
interface Watch {
  readonly connection: Connection;
  /** The URIs that the client knows, by the upstream's. */
  readonly clientUris: ReadonlyMap<string, readonly string[]>;
  readonly stop: () => void;
}

/** A follower of what the principal sees; `interest` is read anew at every look. */
export function createFollower(
  deps: FollowerDeps,
  principal: Principal,
  interest: Interest,
  hear: (notification: Notification) => void,
): Follower {
  let seen: UpstreamView | undefined;
  let isLooking = false;
  let isStale = false;
  let isStopped = false;
  const watches = new Map<number, Watch>();
  const held = new Map<number, Pick<Watch, "connection" | "stop">>();

  function say(method: string, params: JsonObject = {}): void {
    if (!isStopped) hear({ method, params });
  }

  async function lookOnce(): Promise<void> {
    const view = await deps.views.of(principal, PATIENCE_MS);
    if (isStopped) return;
    const before = seen;
    seen = view;
    if (before !== undefined && before !== view) tellLists(before, view);
    await renewListening(view);
    await renewWatches(view);
  }

  function tellLists(before: UpstreamView, now: UpstreamView): void {
    const isSame = (list: "resources" | "resourceTemplates" | "prompts"): boolean =>
      digestOf(before[list]) === digestOf(now[list]);
    if (interest.resourcesListChanged && !(isSame("resources") && isSame("resourceTemplates")))
      say("notifications/resources/list_changed");
    if (interest.promptsListChanged && !isSame("prompts")) say("notifications/prompts/list_changed");
  }

  /** Listens to those upstreams in view that tell of their lists; whoever keeps those hears of it, and has this one look. */
  async function renewListening(view: UpstreamView): Promise<void> {
    const telling = view.sources.filter(({ offer }) => offer?.capabilities.listChanged === true);
    const keys = new Map(telling.map(({ connection }) => [connection.id, connection.keyVersion]));
    for (const [id, { connection, stop }] of held) {
      if (keys.get(id) === connection.keyVersion) continue;
      stop();
      held.delete(id);
    }
    for (const { connection } of telling) {
      if (held.has(connection.id)) continue;
      const target = await deps.connections.target(connection);
      const features = deps.catalog.get(connection.serverType)?.features;
      if (isStopped) return;
      if (features !== undefined) held.set(connection.id, { connection, stop: features.watch(target, [], () => {}) });
    }
  }

  /** Keeps the streams that still fit, ends the others and opens those that are missing. */
  async function renewWatches(view: UpstreamView): Promise<void> {
    const wanted = subscribed(view, interest.resourceUris);
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
      const stop = features.watch(target, [...clientUris.keys()], (news) => {
        if (news.kind === "updated") tellUpdated(source, clientUris, news.uri);
      });
      watches.set(connection.id, { connection, clientUris, stop });
    }
  }

  /** A change may be told of a part of what was subscribed to, by a URI of its own. */
  function tellUpdated(source: Source, known: Watch["clientUris"], uri: string): void {
    const named = known.get(uri) ?? (seen === undefined ? [] : [clientUri(seen, source, uri)]);
    for (const clientKnown of named) say("notifications/resources/updated", { uri: clientKnown });
  }

  function look(): void {
    if (isStopped) return;
    // What changes while it looks is seen by one more look.
    isStale = isLooking;
    if (isLooking) return;
    isLooking = true;
    lookOnce()
      .catch((error: unknown) => {
        deps.log.warn({ err: error }, "the offers of upstreams could not be followed");
      })
      .finally(() => {
        isLooking = false;
        if (isStale) look();
      });
  }

  return {
    look,
    stop() {
      isStopped = true;
      for (const { stop } of [...watches.values(), ...held.values()]) stop();
      watches.clear();
      held.clear();
    },
  };
}

/** The subscribed resources by their source, each with the URIs that the client knows it by. */
function subscribed(view: UpstreamView, uris: ReadonlySet<string>): Map<Source, Map<string, string[]>> {
  const wanted = new Map<Source, Map<string, string[]>>();
  for (const uri of uris) {
    const meaning = meaningOf(view, uri);
    if (meaning?.source.offer?.capabilities.subscribe !== true) continue;
    const own = wanted.get(meaning.source) ?? new Map<string, string[]>();
    wanted.set(meaning.source, own);
    own.set(meaning.key, [...(own.get(meaning.key) ?? []), uri]);
  }
  return wanted;
}

function meaningOf(view: UpstreamView, uri: string): ReturnType<typeof resolveResource> | undefined {
  try {
    return resolveResource(view, uri);
  } catch {
    // It cannot be told whose it is now; it may be later.
    return undefined;
  }
}

function digestOf(list: readonly ListedItem[]): string {
  return createHash("sha256").update(JSON.stringify(list)).digest("base64url");
}
