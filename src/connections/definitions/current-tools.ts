import { LRUCache } from "lru-cache";
import { atMost } from "../../at-most.ts";
import type { Actor } from "../../identity/actor.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../connection.ts";
import type { ConnectionStore } from "../connection-store.ts";
import type { KnownList } from "../known-list.ts";
import { judge, missingDefinitions, type Judgement } from "./compare-tools.ts";
import type { KeptPins, PinsToKeep, PinStore } from "./definition-store.ts";
import { digestOfPins, NO_PINS, type ToolPins, withPins } from "./accepted-definitions.ts";

/** Names of all pins in memory together; each costs some 130 bytes. */
const MAX_NAMES = 200_000;
/** Definitions in memory that are in force and no longer offered. */
const MAX_DEFINITIONS = 5_000;
/** Judgements kept for one list. Most connections to one document agree. */
const MAX_JUDGEMENTS = 1_000;
/** How often pins are written anew when the connection changed meanwhile. */
const MAX_TRIES = 5;

/** The definitions that hold for connections, whatever their upstreams say by now. */
export interface InForce {
  /**
   * The list as it is in force: the same object until the connection's pins or the offer change, and the offered one
   * where nothing differs. Pins what is seen for the first time before anybody sees it, if `isConfirmed` says that the
   * definitions are the upstream's under the connection's present key. Without a promise once settled.
   */
  of(connection: Connection, offered: KnownList, isConfirmed: boolean): KnownList | Promise<KnownList>;
  /** Has definitions be in force; `remaining` others still differ. Undefined when the connection changed meanwhile. */
  accept(
    connection: Connection,
    accepted: readonly ToolDefinition[],
    remaining: number,
    actor: Actor,
  ): Promise<Connection | undefined>;
}

/** What it needs. */
export interface InForceDeps {
  readonly pins: PinStore;
  readonly connections: Pick<ConnectionStore, "find">;
  readonly log: { warn(fields: object, message: string): void };
}

interface Settled {
  readonly list: KnownList;
  readonly isConfirmed: boolean;
  readonly inForce: KnownList | Promise<KnownList>;
}

/**
 * Tool definitions pinned per connection when first seen, so that an upstream cannot change what agents are told, or what
 * they may send, behind its owner's back.
 *
 * Pins are never changed in place, so what is in memory never goes stale; which ones a connection holds stands in its row,
 * which the connections in memory bring along. A call in a settled connection asks the database nothing.
 */
export function createInForce(deps: InForceDeps): InForce {
  const sets = new LRUCache<string, ToolPins>({ maxSize: MAX_NAMES, sizeCalculation: ({ size }) => size + 1 });
  const definitions = new LRUCache<string, ToolDefinition>(atMost(MAX_DEFINITIONS));
  /** By the list that is offered, and the digest of the pins. */
  const judgements = new WeakMap<KnownList, Map<string, Judgement>>();
  /** By the list that is offered, and what is in force of it instead: connections whose pins differ elsewhere share it. */
  const variants = new WeakMap<KnownList, Map<string, KnownList>>();
  /** What a judgement entails, for the many connections that it is made for. */
  const following = new WeakMap<Judgement, KeptPins>();
  const settledFor = new WeakMap<Connection, Settled>();

  async function pinsOf({ toolPins }: Connection): Promise<ToolPins> {
    if (toolPins === undefined) return NO_PINS;
    const known = sets.get(toolPins) ?? (await deps.pins.find(toolPins));
    if (known === undefined) throw new Error("the pins that a connection holds are not kept");
    sets.set(toolPins, known);
    return known;
  }

  async function definitionsOf(digests: readonly string[]): Promise<ReadonlyMap<string, ToolDefinition>> {
    const found = new Map<string, ToolDefinition>();
    const unknown: string[] = [];
    for (const digest of digests) {
      const known = definitions.get(digest);
      if (known === undefined) unknown.push(digest);
      else found.set(digest, known);
    }
    if (unknown.length === 0) return found;
    for (const [digest, definition] of await deps.pins.findDefinitions(unknown)) {
      definitions.set(digest, definition);
      found.set(digest, definition);
    }
    return found;
  }

  async function judged(list: KnownList, connection: Connection): Promise<Judgement> {
    const known = judgements.get(list)?.get(connection.toolPins ?? "");
    if (known !== undefined) return known;
    const pins = await pinsOf(connection);
    const missing = missingDefinitions(list, pins);
    const kept = await definitionsOf(missing);
    const lost = missing.filter((digest) => !kept.has(digest)).length;
    if (lost > 0) {
      const fields = { connectionId: connection.id, lost };
      deps.log.warn(fields, "definitions of tools in force are not kept any more; those offered hold instead");
    }
    const judgement = withShared(list, judge(list, pins, kept), [...kept.keys()].sort().join());
    remember(judgements, list, connection.toolPins ?? "", judgement);
    return judgement;
  }

  function withShared(list: KnownList, judgement: Judgement, key: string): Judgement {
    if (judgement.inForce === list) return judgement;
    const known = variants.get(list)?.get(key);
    if (known !== undefined) return { ...judgement, inForce: known };
    remember(variants, list, key, judgement.inForce);
    return judgement;
  }

  /** Without a promise where this list was judged before and there is nothing to write down. */
  function settledAlready(connection: Connection, list: KnownList, isConfirmed: boolean): KnownList | undefined {
    const judgement = judgements.get(list)?.get(connection.toolPins ?? "");
    if (judgement === undefined) return undefined;
    return !isConfirmed || isWrittenDown(connection, judgement) ? judgement.inForce : undefined;
  }

  async function settle(first: Connection, list: KnownList, isConfirmed: boolean): Promise<KnownList> {
    let connection = first;
    let judgement = await judged(list, connection);
    for (let tries = 0; tries < MAX_TRIES && isConfirmed && !isWrittenDown(connection, judgement); tries += 1) {
      const written = await writeDown(connection, list, judgement);
      const current = written ?? (await deps.connections.find(first.accountId, first.id));
      // Deleted, sent elsewhere or no longer pinned: this list is nobody's concern any more.
      if (current?.keyVersion !== first.keyVersion || current.acceptToolChanges === "automatic") break;
      connection = current;
      judgement = await judged(list, connection);
    }
    return judgement.inForce;
  }

  async function writeDown(
    connection: Connection,
    list: KnownList,
    judgement: Judgement,
  ): Promise<Connection | undefined> {
    const { inForce, newcomers } = judgement;
    let next = following.get(judgement);
    if (next === undefined) {
      const listed = new Map(list.definitions.map((definition) => [definition.name, definition]));
      const pins = withPins(await pinsOf(connection), newcomers, (name) => listed.has(name));
      const fleeting = list.isFleeting ? [...newcomers.keys()].flatMap((name) => listed.get(name) ?? []) : [];
      next = { pins, digest: digestOfPins(pins), definitions: fleeting };
      following.set(judgement, next);
    }
    const changedTools = inForce.pending?.size ?? 0;
    return keep(connection, { ...next, changedTools, isNews: changedTools !== connection.changedTools });
  }

  async function keep(connection: Connection, kept: PinsToKeep): Promise<Connection | undefined> {
    const saved = await deps.pins.keep(connection, kept);
    if (saved !== undefined) sets.set(kept.digest, kept.pins);
    return saved;
  }

  return {
    of(connection, list, isConfirmed) {
      if (connection.acceptToolChanges === "automatic" || list.definitions.length === 0) return list;
      const known = settledFor.get(connection);
      if (known?.list === list && (known.isConfirmed || !isConfirmed)) return known.inForce;
      const already = settledAlready(connection, list, isConfirmed);
      if (already !== undefined) {
        settledFor.set(connection, { list, isConfirmed, inForce: already });
        return already;
      }
      const settling = settle(connection, list, isConfirmed);
      settledFor.set(connection, { list, isConfirmed, inForce: settling });
      settling.then(
        (inForce) => settledFor.set(connection, { list, isConfirmed, inForce }),
        () => settledFor.delete(connection),
      );
      return settling;
    },

    async accept(connection, accepted, remaining, actor) {
      const more = new Map(accepted.flatMap(({ name, digest }) => (digest === undefined ? [] : [[name, digest]])));
      const pins = withPins(await pinsOf(connection), more, (name) => more.has(name));
      const digest = digestOfPins(pins);
      const toolNames = accepted.map(({ name }) => name);
      const kept = { pins, digest, definitions: accepted, changedTools: remaining, isNews: true };
      return keep(connection, { ...kept, accepted: { actor, toolNames } });
    },
  };
}

function isWrittenDown({ changedTools }: Connection, { inForce, newcomers }: Judgement): boolean {
  return newcomers.size === 0 && (inForce.pending?.size ?? 0) === changedTools;
}

/** Notes something for a list, and starts over when that is too much. */
function remember<Value>(
  notes: WeakMap<KnownList, Map<string, Value>>,
  list: KnownList,
  key: string,
  value: Value,
): void {
  const ofList = notes.get(list) ?? new Map<string, Value>();
  if (ofList.size >= MAX_JUDGEMENTS) ofList.clear();
  notes.set(list, ofList.set(key, value));
}
