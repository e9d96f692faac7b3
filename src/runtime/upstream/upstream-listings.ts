import { createHash } from "node:crypto";
import { LRUCache } from "lru-cache";
import type { ChangeFeed } from "../../connections/change-feed.ts";
import type { Connection } from "../../connections/connection.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { FeatureListing } from "../../integrations/features.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { withinMs } from "../../within-ms.ts";
import type { WarnLog } from "../../log.ts";

/** What all offers together may cost in memory, in bytes. */
const MAX_BYTES = 128 * 1024 * 1024;
/** What an entry costs beside its offer, in bytes. */
const ENTRY_BYTES = 500;
/** How old an offer may grow before it is asked for again in the background, in milliseconds. */
const FRESH_MS = 60_000;
/** How often one upstream's word that its lists have changed is passed on, in milliseconds. */
const ANNOUNCE_EVERY_MS = 1_000;
/** How long to leave an upstream alone that could not be asked, in milliseconds. */
const RETRY_AFTER_MS = 10_000;

/** What upstreams offer beyond tools, from memory. */
export interface UpstreamListings {
  /**
   * The last known offer: the same object until it changes. Undefined for an upstream that could not be asked, and for one
   * that has kept everybody waiting longer than `patienceMs` for its first answer.
   */
  of(connection: Connection, maxWaitMs: number): FeatureListing | undefined | Promise<FeatureListing | undefined>;
  /** The last known offer, without asking for it. */
  known(connectionId: number): FeatureListing | undefined;
  /** Calls back when a connection's offer has changed, or is said to have; answers how to stop. */
  onChange(callback: (connection: Connection) => void): () => void;
}

/** Changes of offers, heard on every replica. */
export interface ListingFeed {
  announce(connectionId: number): Promise<void>;
  /** Calls back on every change that was announced, here too. */
  onChanged(callback: (connectionId: number) => void): void;
}

/** What the offers need. */
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
  /** The key it was last confirmed with. */
  readonly keyVersion: number;
  /** Since when the first offer is waited for, monotonic milliseconds. */
  readonly sinceMs: number;
  /** When it is asked for again, milliseconds since the epoch. */
  staleAt: number;
}

/** Offers per connection, each asked for by one request at a time, however many wait. */
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

  /** An upstream said so: to the replica that called it, so the others are told. One that says it all the time is believed once a second. */
  function announce(connectionId: number): void {
    if (announcing.has(connectionId)) return;
    announcing.add(connectionId);
    setTimeout(() => announcing.delete(connectionId), ANNOUNCE_EVERY_MS).unref();
    deps.listingFeed.announce(connectionId).catch((error: unknown) => {
      deps.log.warn({ err: error, connectionId }, "a change of an upstream's offer could not be announced");
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
    // Whoever follows it looks, and so has it asked for again.
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
      const digest = createHash("sha256")
        .update(JSON.stringify(listing ?? null))
        .digest("base64url");
      const staleAt = Date.now() + freshMs;
      if (digest === before.digest) return keep({ ...before, staleAt });
      keep({ listing, digest, staleAt });
      for (const callback of callbacks) callback(connection);
      return listing;
    } catch (error) {
      deps.log.warn({ err: error, connectionId: connection.id }, "what an upstream offers could not be asked");
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
