import { createHash } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Principal } from "../auth/principal.ts";
import type { ChangeFeed } from "../connections/change-feed.ts";
import type { Connection } from "../connections/connection.ts";
import type { ConnectionView } from "../connections/connection-view.ts";
import type { Catalog } from "../integrations/integration.ts";
import type { Notification } from "../integrations/relay.ts";
import type { JsonObject } from "../json.ts";
import type { Log } from "./log.ts";
import { clientUri, resolveResource } from "./resolve-upstream.ts";
import type { Interest, UpstreamFeatures } from "./upstream-features.ts";
import type { UpstreamOffers } from "./upstream-offers.ts";
import type { ListedItem } from "./upstream-pages.ts";
import type { Source, UpstreamView } from "./upstream-view.ts";
import type { UpstreamViews } from "./upstream-views.ts";

/** How often the offers in view, and what a follower wants to hear, are looked at: it may be in memory alone, in milliseconds. */
const LOOK_EVERY_MS = 5_000;
/** Changes come in groups: how long to wait for the rest of one, in milliseconds. */
const SETTLE_MS = 50;
/** How long the first look waits for offers, in milliseconds. */
const PATIENCE_MS = 10_000;

/** What following needs. */
export interface UpstreamFollowersDeps {
  readonly views: UpstreamViews;
  readonly offers: UpstreamOffers;
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly feed: ChangeFeed;
  readonly log: Log;
  readonly lookEveryMs?: number;
}

/** What was last told of the lists. */
interface Told {
  readonly resources: string;
  readonly prompts: string;
}

/** A stream of ours to one upstream, for the resources that one follower subscribed to. */
interface Watch {
  readonly connection: Connection;
  /** The URIs that the client knows, by the upstream's. */
  readonly clientUris: ReadonlyMap<string, readonly string[]>;
  readonly stop: () => void;
}

/**
 * Follows the offers in view, one look at a time: on changes heard here and, because upstreams rarely say so, every minute.
 * Subscribed resources are watched over a stream to their upstream for as long as somebody follows.
 */
export function createUpstreamFollowers(deps: UpstreamFollowersDeps): Pick<UpstreamFeatures, "follow"> {
  const followers = new Map<string, Set<() => void>>();
  const wake = (accountId: string): void => {
    for (const look of followers.get(accountId) ?? []) look();
  };
  deps.offers.onChange(({ accountId }) => wake(accountId));
  deps.feed.onChange(({ accountId }) => wake(accountId));
  deps.feed.onGap(() => {
    for (const accountId of followers.keys()) wake(accountId);
  });

  function register(accountId: string, look: () => void): () => void {
    const own = followers.get(accountId) ?? new Set();
    followers.set(accountId, own.add(look));
    return () => {
      own.delete(look);
      if (own.size === 0 && followers.get(accountId) === own) followers.delete(accountId);
    };
  }

  return {
    follow(principal, interest, hear) {
      const follower = createFollower(deps, principal, interest, hear);
      let settling: NodeJS.Timeout | undefined;
      const soon = (): void => {
        settling ??= setTimeout(() => {
          settling = undefined;
          follower.look();
        }, SETTLE_MS).unref();
      };
      const unregister = register(principal.accountId, soon);
      const regularly = setInterval(() => follower.look(), deps.lookEveryMs ?? LOOK_EVERY_MS).unref();
      follower.look();
      return () => {
        unregister();
        clearInterval(regularly);
        clearTimeout(settling);
        follower.stop();
      };
    },
  };
}

function createFollower(
  deps: UpstreamFollowersDeps,
  principal: Principal,
  interest: Interest,
  hear: (notification: Notification) => void,
): { look(): void; stop(): void } {
  let told: Told | undefined;
  let isLooking = false;
  let isStopped = false;
  const watches = new Map<number, Watch>();

  function say(method: string, params: JsonObject = {}): void {
    if (!isStopped) hear({ method, params });
  }

  async function look(): Promise<void> {
    const view = await deps.views.of(principal, PATIENCE_MS);
    if (isStopped) return;
    const now = { resources: digest(view.resources, view.resourceTemplates), prompts: digest(view.prompts) };
    const before = told;
    told = now;
    if (before !== undefined && interest.resourcesListChanged && before.resources !== now.resources)
      say("notifications/resources/list_changed");
    if (before !== undefined && interest.promptsListChanged && before.prompts !== now.prompts)
      say("notifications/prompts/list_changed");
    await renewWatches(view);
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
        if (news.kind === "updated") tell(view, source, clientUris, news.uri);
        else if (news.list !== "tools") {
          deps.offers.expire(connection.id);
          void deps.views.of(principal, 0);
        }
      });
      watches.set(connection.id, { connection, clientUris, stop });
    }
  }

  /** A change may be told of a part of what was subscribed to, by a URI of its own. */
  function tell(view: UpstreamView, source: Source, known: Watch["clientUris"], uri: string): void {
    for (const clientKnown of known.get(uri) ?? [clientUri(view, source, uri)]) {
      say("notifications/resources/updated", { uri: clientKnown });
    }
  }

  return {
    look() {
      // What changes while it looks wakes it once more; the regular look catches the rest.
      if (isLooking || isStopped) return;
      isLooking = true;
      look()
        .catch((error: unknown) => {
          deps.log.warn({ err: error }, "the offers of upstreams could not be followed");
        })
        .finally(() => {
          isLooking = false;
        });
    },
    stop() {
      isStopped = true;
      for (const { stop } of watches.values()) stop();
      watches.clear();
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

function digest(...lists: readonly (readonly ListedItem[])[]): string {
  const hash = createHash("sha256");
  for (const list of lists) hash.update(JSON.stringify(list)).update("\n");
  return hash.digest("base64url");
}
