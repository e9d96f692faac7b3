import { LRUCache } from "lru-cache";
import { type Principal, reaches } from "../../identity/principal.ts";
import type { Connection } from "../../connections/connection.ts";
import { mayRead } from "../../connections/connection-tools.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { Catalog } from "../../integrations/integration.ts";
import { connectionRefusal } from "../calls/connection-refusal.ts";
import type { UpstreamOffers } from "./upstream-listings.ts";
import { computeUpstreamView, type RefusedSource, type Source, type UpstreamView } from "./upstream-view.ts";

/** Items of all cached views together. */
const MAX_CACHED_ITEMS = 500_000;

/** What principals see of their upstreams' offers beyond tools. */
export interface UpstreamViews {
  /**
   * The same object until a connection or an offer changes; without a promise when everything is known. Waits at most
   * `patienceMs` for the very first offer of a connection.
   */
  of(principal: Principal, patienceMs: number): UpstreamView | Promise<UpstreamView>;
}

const NOTHING = computeUpstreamView([], []);

/** Views over the connections and what their upstreams offer; resources and prompts are reads (DESIGN §6). */
export function createUpstreamViews(deps: {
  readonly connections: ConnectionView;
  readonly catalog: Catalog;
  readonly offers: UpstreamOffers;
}): UpstreamViews {
  const cache = new LRUCache<string, UpstreamView>({
    maxSize: MAX_CACHED_ITEMS,
    sizeCalculation: ({ resources, resourceTemplates, prompts, sources, refused }) =>
      1 + resources.length + resourceTemplates.length + prompts.length + sources.length + refused.length,
  });

  function viewOf(principal: Principal, sources: readonly Source[], refused: readonly RefusedSource[]): UpstreamView {
    const { accountId, connectionId, connectionIds, grantId } = principal;
    const key = `${accountId} ${connectionId ?? "*"} ${connectionIds === undefined ? "*" : grantId}`;
    const cached = cache.get(key);
    if (cached !== undefined && isSame(cached, sources, refused)) return cached;
    const view = computeUpstreamView(sources, refused);
    cache.set(key, view);
    return view;
  }

  function fromConnections(
    principal: Principal,
    patienceMs: number,
    connections: readonly Connection[],
  ): UpstreamView | Promise<UpstreamView> {
    const refused: RefusedSource[] = [];
    const asked: Connection[] = [];
    for (const connection of connections) {
      if (!isInView(principal, connection) || deps.catalog.get(connection.serverType)?.features === undefined) continue;
      const reason = connectionRefusal(connection);
      if (reason === undefined) asked.push(connection);
      else refused.push({ connection, reason, offer: deps.offers.known(connection.id) });
    }
    const offers = asked.map((connection) => deps.offers.of(connection, patienceMs));
    const together = (known: readonly Source["offer"][]): UpstreamView =>
      viewOf(
        principal,
        asked.map((connection, index) => ({ connection, offer: known[index] })),
        refused,
      );
    const here = offers.filter(isHere);
    return here.length === offers.length
      ? together(here)
      : Promise.all(offers.map(async (offer) => offer)).then(together);
  }

  return {
    of(principal, patienceMs) {
      if (!mayRead(principal)) return NOTHING;
      const connections = deps.connections.ofAccount(principal.accountId);
      if (!(connections instanceof Promise)) return fromConnections(principal, patienceMs, connections);
      return connections.then((loaded) => fromConnections(principal, patienceMs, loaded));
    },
  };
}

/** The agent-enabled connections of the account that the principal reaches. */
function isInView(principal: Principal, connection: Connection): boolean {
  return connection.agentEnabled && reaches(principal, connection.id);
}

function isHere(offer: Source["offer"] | Promise<Source["offer"]>): offer is Source["offer"] {
  return !(offer instanceof Promise);
}

function isSame(view: UpstreamView, sources: readonly Source[], refused: readonly RefusedSource[]): boolean {
  const isSameAs =
    (before: readonly Pick<Source, "connection" | "offer">[]) =>
    (one: Pick<Source, "connection" | "offer">, index: number): boolean =>
      one.connection === before[index]?.connection && one.offer === before[index].offer;
  return (
    view.sources.length === sources.length &&
    view.refused.length === refused.length &&
    sources.every(isSameAs(view.sources)) &&
    refused.every(isSameAs(view.refused))
  );
}
