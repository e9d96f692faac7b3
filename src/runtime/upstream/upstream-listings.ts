import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { FeatureListing, ListedFeature } from "../../integrations/features.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { printInKeyOrder } from "../../json.ts";
import { withinMs } from "../../within-ms.ts";
import type { WarnLog } from "../../log.ts";

/** Maximum size of all cached listings, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;
/** Size of an entry without its listing, in bytes. */
const ENTRY_BYTES = 500;
/** Age at which a listing is fetched again in the background, in milliseconds. */
const FRESH_MS = 60_000;
/** The minimum age at which a listing is fetched again, however short the upstream's time to live is. */
const MIN_FRESH_MS = 5_000;
/** How often reported list changes of one upstream are announced, in milliseconds. */
const ANNOUNCE_EVERY_MS = 1_000;
/** Pause after a failed fetch, in milliseconds. */
const RETRY_AFTER_MS = 10_000;

/** Cached listings of the features beyond tools. */
export interface UpstreamListings {
  /**
   * Returns the last known listing, the same object until it changes. Undefined for an upstream that could not be
   * reached, or whose first listing has been loading for `maxWaitMs`.
   */
  of(connection: Connection, maxWaitMs: number): FeatureListing | undefined | Promise<FeatureListing | undefined>;
  /** Returns the last known listing without fetching it. */
  known(connectionId: number): FeatureListing | undefined;
  /** Calls back when a listing changed or its upstream reported a change. Returns a function that unsubscribes. */
  onChange(callback: (connection: Connection) => void): () => void;
}

/** Distributes changes of listings to all replicas. */
export interface ListingFeed {
  announce(connectionId: number): Promise<void>;
  /** Calls back for changes announced by any replica. */
  onChanged(callback: (connectionId: number) => void): void;
}

export interface UpstreamListingsDeps {
  readonly catalog: Catalog;
  readonly connections: ConnectionView;
  readonly feed: ChangeFeed;
  readonly listingFeed: ListingFeed;
  readonly log: WarnLog;
  readonly freshMs?: number;
}

interface Entry {
  readonly connection: Connection;
  readonly listing: FeatureListing | undefined;
  readonly digest: string;
  /** Version of the key that the listing was fetched with. */
  readonly keyVersion: number;
  /** Start of the wait for the first listing, in monotonic milliseconds. */
  readonly sinceMs: number;
  /** When the listing is fetched again, in milliseconds since 1970. */
  staleAt: number;
}

/** The order of keys does not count: some servers print them in another order each time. */
function digestOfListing(listing: FeatureListing): string {
  const values = (items: readonly ListedFeature[]): unknown[] => items.map(({ json }): unknown => JSON.parse(json));
  const { resources, resourceTemplates, prompts, skills, ...rest } = listing;
  const lists = [values(resources), values(resourceTemplates), values(prompts), values(skills)];
  return createHash("sha256").update(printInKeyOrder({ rest, lists })).digest("base64url");
}

/** Fetches each listing with one request at a time, for all callers. */
export function createUpstreamListings(deps: UpstreamListingsDeps): UpstreamListings {
  const freshMs = deps.freshMs ?? FRESH_MS;
  const known = new LRUCache<number, Entry>({
    maxSize: MAX_BYTES,
    sizeCalculation: ({ listing }) => ENTRY_BYTES + (listing?.bytes ?? 0),
  });
  const loading = new Map<number, Promise<FeatureListing | undefined>>();
  const announcing = new Set<number>();
  const callbacks = new Set<(connection: Connection) => void>();

  deps.feed.onChange(({ connectionId, event }) => {
    if (event === "deleted") known.delete(connectionId);
  });

  /**
   * Only the replica that called the upstream receives its report, so this replica announces it to the others, at most
   * once a second per connection.
   */
  function announce(connectionId: number): void {
    if (announcing.has(connectionId)) return;
    announcing.add(connectionId);
    setTimeout(() => announcing.delete(connectionId), ANNOUNCE_EVERY_MS).unref();
    deps.listingFeed.announce(connectionId).catch((error: unknown) => {
      deps.log.warn({ err: error, connectionId }, "could not announce a change of upstream listings");
    });
  }

  for (const integration of deps.catalog.values()) {
    integration.onNotification?.((connectionId, event) => {
      if (event.kind === "list_changed" && event.list !== "tools") announce(connectionId);
    });
  }
  deps.listingFeed.onChanged((connectionId) => {
    const entry = known.peek(connectionId);
    if (entry === undefined) return;
    entry.staleAt = 0;
    // The callback's next check fetches the listing again.
    for (const callback of callbacks) callback(entry.connection);
  });

  async function load(connection: Connection, before: Entry): Promise<FeatureListing | undefined> {
    const keep = (entry: Pick<Entry, "listing" | "digest" | "staleAt">): FeatureListing | undefined => {
      known.set(connection.id, { ...entry, connection, keyVersion: connection.keyVersion, sinceMs: before.sinceMs });
      return entry.listing;
    };
    try {
      const target = await deps.connections.target(connection);
      const features = deps.catalog.get(connection.serverType)?.features;
      const listing = await features?.listFeatures(target, { signal: new AbortController().signal });
      const digest = listing === undefined ? "none" : digestOfListing(listing);
      const staleAt = Date.now() + Math.min(freshMs, Math.max(listing?.ttlMs ?? freshMs, MIN_FRESH_MS));
      if (digest === before.digest) return keep({ ...before, staleAt });
      keep({ listing, digest, staleAt });
      for (const callback of callbacks) callback(connection);
      return listing;
    } catch (error) {
      deps.log.warn({ err: error, connectionId: connection.id }, "could not fetch the listings of an upstream");
      return keep({ ...before, staleAt: Date.now() + RETRY_AFTER_MS });
    }
  }

  return {
    of(connection, maxWaitMs) {
      const { id, keyVersion } = connection;
      let entry = known.get(id);
      if (entry === undefined) {
        entry = { connection, listing: undefined, digest: "", keyVersion, sinceMs: performance.now(), staleAt: 0 };
        known.set(id, entry);
      }
      let loadingNow = loading.get(id);
      if (loadingNow === undefined && (entry.staleAt <= Date.now() || entry.keyVersion !== keyVersion)) {
        loadingNow = load(connection, entry).finally(() => loading.delete(id));
        loading.set(id, loadingNow);
      }
      if (entry.listing !== undefined || loadingNow === undefined) return entry.listing;
      const leftMs = entry.sinceMs + maxWaitMs - performance.now();
      return leftMs > 0 ? withinMs(leftMs, loadingNow, undefined) : undefined;
    },
    known: (connectionId) => known.peek(connectionId)?.listing,
    onChange(callback) {
      callbacks.add(callback);
      return () => callbacks.delete(callback);
    },
  };
}
