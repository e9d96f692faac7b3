import type { Actor } from "../../identity/actor.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../connection.ts";
import type { AcceptedDefinitions } from "./accepted-definitions.ts";

export interface AcceptedSet {
  readonly accepted: AcceptedDefinitions;
  readonly digest: string;
  /** The definitions themselves, because the upstream may not list them again. */
  readonly definitions: readonly ToolDefinition[];
}

/** A connection's new set of accepted definitions. */
export interface AcceptedSetUpdate extends AcceptedSet {
  /** How many tools of the upstream differ from the accepted definitions. */
  readonly changedTools: number;
  readonly notifiesWatchers: boolean;
  /** Undefined for definitions that are accepted automatically when first seen. */
  readonly acceptance?: { readonly actor: Actor; readonly toolNames: readonly string[] };
}

/** Stores each set and each definition once, by digest. A connection's row names its set. */
export interface DefinitionStore {
  find(digest: string): Promise<AcceptedDefinitions | undefined>;
  /** Omits definitions that are not stored. */
  findDefinitions(digests: readonly string[]): Promise<ReadonlyMap<string, ToolDefinition>>;
  /**
   * Gives the connection a new set if its set, its key and its acceptance mode are still the given ones. Returns
   * undefined and changes nothing otherwise.
   */
  keep(connection: Connection, update: AcceptedSetUpdate): Promise<Connection | undefined>;
}
