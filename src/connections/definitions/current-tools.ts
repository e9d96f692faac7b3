import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Actor } from "../../identity/actor.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { KnownToolList } from "../known-tool-list.ts";
import { compareTools, missingDefinitions, type ToolComparison } from "./compare-tools.ts";
import type { AcceptedSet, AcceptedSetUpdate, DefinitionStore } from "./definition-store.ts";
import {
  digestOfAccepted,
  NO_ACCEPTED_DEFINITIONS,
  type AcceptedDefinitions,
  mergeAccepted,
} from "./accepted-definitions.ts";

/** Maximum number of names in all sets in memory; each takes about 130 bytes. */
const MAX_NAMES = 200_000;
/** Maximum number of accepted definitions in memory that their upstream no longer lists. */
const MAX_DEFINITIONS = 5_000;
/** Maximum number of comparisons remembered for one list. Most connections to one document share theirs. */
const MAX_COMPARISONS = 1_000;
const MAX_TRIES = 5;

/** The tool definitions that agents get, whatever the upstreams list now. */
export interface CurrentTools {
  /**
   * Returns the current list: the same object until the accepted definitions or the upstream's list change, and the
   * upstream's list itself if nothing differs. Accepts new tools before returning them if `isConfirmed`, that is, if
   * the list was fetched with the connection's current key. Returns no promise once the result is known.
   */
  of(connection: Connection, list: KnownToolList, isConfirmed: boolean): KnownToolList | Promise<KnownToolList>;
  /** Accepts definitions; `remaining` others still differ. Returns undefined if the connection changed meanwhile. */
  accept(
    connection: Connection,
    definitions: readonly ToolDefinition[],
    remaining: number,
    actor: Actor,
  ): Promise<Connection | undefined>;
}

export interface CurrentToolsDeps {
  readonly store: DefinitionStore;
  readonly connections: Pick<ConnectionStore, "find">;
  readonly log: { warn(fields: object, message: string): void };
}

interface Settled {
  readonly list: KnownToolList;
  readonly isConfirmed: boolean;
  readonly current: KnownToolList | Promise<KnownToolList>;
}

/**
 * Accepts each tool definition when first seen, so that an upstream cannot change what agents read or send without the
 * owner's approval.
 *
 * Sets of accepted definitions are immutable and named by the connection's row, so cached ones never become stale, and
 * a call on an unchanged connection needs no database query.
 */
export function createCurrentTools(deps: CurrentToolsDeps): CurrentTools {
  const acceptedByDigest = new LRUCache<string, AcceptedDefinitions>({
    maxSize: MAX_NAMES,
    sizeCalculation: ({ size }) => size + 1,
  });
  const definitions = new LRUCache<string, ToolDefinition>(atMost(MAX_DEFINITIONS));
  /** By upstream list, then by the digest of the accepted definitions. */
  const comparisons = new WeakMap<KnownToolList, Map<string, ToolComparison>>();
  /** Current lists, keyed by upstream list and then by its differing definitions. Connections share equal lists. */
  const variants = new WeakMap<KnownToolList, Map<string, KnownToolList>>();
  const updates = new WeakMap<ToolComparison, AcceptedSet>();
  const settledFor = new WeakMap<Connection, Settled>();

  async function acceptedOf({ acceptedDefinitions }: Connection): Promise<AcceptedDefinitions> {
    if (acceptedDefinitions === undefined) return NO_ACCEPTED_DEFINITIONS;
    const known = acceptedByDigest.get(acceptedDefinitions) ?? (await deps.store.find(acceptedDefinitions));
    if (known === undefined) throw new Error("the accepted definitions that a connection names are not stored");
    acceptedByDigest.set(acceptedDefinitions, known);
    return known;
  }

  async function loadDefinitions(digests: readonly string[]): Promise<ReadonlyMap<string, ToolDefinition>> {
    const found = new Map<string, ToolDefinition>();
    const unknown: string[] = [];
    for (const digest of digests) {
      const known = definitions.get(digest);
      if (known === undefined) unknown.push(digest);
      else found.set(digest, known);
    }
    if (unknown.length === 0) return found;
    for (const [digest, definition] of await deps.store.findDefinitions(unknown)) {
      definitions.set(digest, definition);
      found.set(digest, definition);
    }
    return found;
  }

  async function compare(list: KnownToolList, connection: Connection): Promise<ToolComparison> {
    const known = comparisons.get(list)?.get(connection.acceptedDefinitions ?? "");
    if (known !== undefined) return known;
    const accepted = await acceptedOf(connection);
    const missing = missingDefinitions(list, accepted);
    const loaded = await loadDefinitions(missing);
    const lost = missing.filter((digest) => !loaded.has(digest)).length;
    if (lost > 0) {
      const fields = { connectionId: connection.id, lost };
      deps.log.warn(
        fields,
        "accepted tool definitions are missing from the database; using the upstream's definitions",
      );
    }
    const comparison = withShared(list, compareTools(list, accepted, loaded), [...loaded.keys()].sort().join());
    remember(comparisons, list, connection.acceptedDefinitions ?? "", comparison);
    return comparison;
  }

  function withShared(list: KnownToolList, comparison: ToolComparison, key: string): ToolComparison {
    if (comparison.current === list) return comparison;
    const known = variants.get(list)?.get(key);
    if (known !== undefined) return { ...comparison, current: known };
    remember(variants, list, key, comparison.current);
    return comparison;
  }

  /** The current list if this list was compared before and there is nothing to store. */
  function settledAlready(
    connection: Connection,
    list: KnownToolList,
    isConfirmed: boolean,
  ): KnownToolList | undefined {
    const comparison = comparisons.get(list)?.get(connection.acceptedDefinitions ?? "");
    if (comparison === undefined) return undefined;
    return !isConfirmed || isStored(connection, comparison) ? comparison.current : undefined;
  }

  async function settle(first: Connection, list: KnownToolList, isConfirmed: boolean): Promise<KnownToolList> {
    let connection = first;
    let comparison = await compare(list, connection);
    for (let tries = 0; tries < MAX_TRIES && isConfirmed && !isStored(connection, comparison); tries += 1) {
      const stored = await storeUpdate(connection, list, comparison);
      const latest = stored ?? (await deps.connections.find(first.accountId, first.id));
      // The list is obsolete if the connection was deleted, got another key or accepts changes automatically now.
      if (latest?.keyVersion !== first.keyVersion || latest.acceptToolChanges === "automatic") break;
      connection = latest;
      comparison = await compare(list, connection);
    }
    return comparison.current;
  }

  async function storeUpdate(
    connection: Connection,
    list: KnownToolList,
    comparison: ToolComparison,
  ): Promise<Connection | undefined> {
    const { current, newTools } = comparison;
    let next = updates.get(comparison);
    if (next === undefined) {
      const listed = new Map(list.definitions.map((definition) => [definition.name, definition]));
      const accepted = mergeAccepted(await acceptedOf(connection), newTools, (name) => listed.has(name));
      const unstored = list.isTransient ? [...newTools.keys()].flatMap((name) => listed.get(name) ?? []) : [];
      next = { accepted, digest: digestOfAccepted(accepted), definitions: unstored };
      updates.set(comparison, next);
    }
    const changedTools = current.pending?.size ?? 0;
    return keep(connection, { ...next, changedTools, notifiesWatchers: changedTools !== connection.changedTools });
  }

  async function keep(connection: Connection, update: AcceptedSetUpdate): Promise<Connection | undefined> {
    const saved = await deps.store.keep(connection, update);
    if (saved !== undefined) acceptedByDigest.set(update.digest, update.accepted);
    return saved;
  }

  return {
    of(connection, list, isConfirmed) {
      if (connection.acceptToolChanges === "automatic" || list.definitions.length === 0) return list;
      const known = settledFor.get(connection);
      if (known?.list === list && (known.isConfirmed || !isConfirmed)) return known.current;
      const already = settledAlready(connection, list, isConfirmed);
      if (already !== undefined) {
        settledFor.set(connection, { list, isConfirmed, current: already });
        return already;
      }
      const settling = settle(connection, list, isConfirmed);
      settledFor.set(connection, { list, isConfirmed, current: settling });
      settling.then(
        (current) => settledFor.set(connection, { list, isConfirmed, current }),
        () => settledFor.delete(connection),
      );
      return settling;
    },

    async accept(connection, proposed, remaining, actor) {
      const more = new Map(proposed.flatMap(({ name, digest }) => (digest === undefined ? [] : [[name, digest]])));
      const accepted = mergeAccepted(await acceptedOf(connection), more, (name) => more.has(name));
      return keep(connection, {
        accepted,
        digest: digestOfAccepted(accepted),
        definitions: proposed,
        changedTools: remaining,
        notifiesWatchers: true,
        acceptance: { actor, toolNames: proposed.map(({ name }) => name) },
      });
    },
  };
}

function isStored({ changedTools }: Connection, { current, newTools }: ToolComparison): boolean {
  return newTools.size === 0 && (current.pending?.size ?? 0) === changedTools;
}

/** Remembers a value for a list, and starts over when the list has too many. */
function remember<Value>(
  notes: WeakMap<KnownToolList, Map<string, Value>>,
  list: KnownToolList,
  key: string,
  value: Value,
): void {
  const ofList = notes.get(list) ?? new Map<string, Value>();
  if (ofList.size >= MAX_COMPARISONS) ofList.clear();
  notes.set(list, ofList.set(key, value));
}
