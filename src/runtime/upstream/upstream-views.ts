import { LRUCache } from "lru-cache";
import { mayCall, type Principal } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import { mayRead } from "../../connections/connection-tools.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { connectionRefusal } from "../calls/connection-refusal.ts";
import type { UpstreamListings } from "./upstream-listings.ts";
import { computeUpstreamView, type UnavailableSource, type Source, type UpstreamView } from "./upstream-view.ts";

/** Maximum number of items in all cached views. */
const MAX_CACHED_ITEMS = 500_000;

export interface UpstreamViews {
  /**
   * Returns the same view until a connection or a listing changes, and no promise if all listings are cached. Waits at
   * most `maxWaitMs` for the first listing of a connection.
   */
  of(principal: Principal, maxWaitMs: number): UpstreamView | Promise<UpstreamView>;
}

const NOTHING = computeUpstreamView([], [], true);

/** Resources, prompts and skills require a reading scope (DESIGN §6). */
export function createUpstreamViews(deps: {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly listings: UpstreamListings;
}): UpstreamViews {
  const cache = new LRUCache<string, UpstreamView>({
    maxSize: MAX_CACHED_ITEMS,
    sizeCalculation: ({ resources, resourceTemplates, prompts, skills, sources, unavailable }) =>
      1 +
      resources.length +
      resourceTemplates.length +
      prompts.length +
      skills.length +
      sources.length +
      unavailable.length,
  });

  function viewOf(
    principal: Principal,
    sources: readonly Source[],
    unavailable: readonly UnavailableSource[],
  ): UpstreamView {
    const { accountId, memberId, connectionId, connectionIds, grantId } = principal;
    const key = `${accountId} ${memberId ?? "*"} ${connectionId ?? "*"} ${connectionIds === undefined ? "*" : grantId}`;
    const cached = cache.get(key);
    if (cached !== undefined && isSame(cached, sources, unavailable)) return cached;
    const view = computeUpstreamView(sources, unavailable, connectionId === undefined);
    cache.set(key, view);
    return view;
  }

  function fromConnections(
    principal: Principal,
    maxWaitMs: number,
    connections: readonly Connection[],
  ): UpstreamView | Promise<UpstreamView> {
    const unavailable: UnavailableSource[] = [];
    const asked: Connection[] = [];
    for (const connection of connections) {
      if (!isInView(principal, connection) || deps.catalog.get(connection.serverType)?.features === undefined) continue;
      const reason = connectionRefusal(connection);
      if (reason === undefined) asked.push(connection);
      else unavailable.push({ connection, reason, listing: deps.listings.known(connection.id) });
    }
    const listings = asked.map((connection) => deps.listings.of(connection, maxWaitMs));
    const combine = (known: readonly Source["listing"][]): UpstreamView =>
      viewOf(
        principal,
        asked.map((connection, index) => ({ connection, listing: known[index] })),
        unavailable,
      );
    const ready = listings.filter(isReady);
    return ready.length === listings.length
      ? combine(ready)
      : Promise.all(listings.map(async (listing) => listing)).then(combine);
  }

  return {
    of(principal, maxWaitMs) {
      if (!mayRead(principal)) return NOTHING;
      const connections = deps.connections.ofAccount(principal.accountId);
      if (!(connections instanceof Promise)) return fromConnections(principal, maxWaitMs, connections);
      return connections.then((loaded) => fromConnections(principal, maxWaitMs, loaded));
    },
  };
}

function isInView(principal: Principal, connection: Connection): boolean {
  return connection.agentEnabled && mayCall(principal, connection.id);
}

function isReady(listing: Source["listing"] | Promise<Source["listing"]>): listing is Source["listing"] {
  return !(listing instanceof Promise);
}

function isSame(view: UpstreamView, sources: readonly Source[], unavailable: readonly UnavailableSource[]): boolean {
  const isSameAs =
    (before: readonly Pick<Source, "connection" | "listing">[]) =>
    (one: Pick<Source, "connection" | "listing">, index: number): boolean =>
      one.connection === before[index]?.connection && one.listing === before[index].listing;
  return (
    view.sources.length === sources.length &&
    view.unavailable.length === unavailable.length &&
    sources.every(isSameAs(view.sources)) &&
    unavailable.every(isSameAs(view.unavailable))
  );
}
