import type { Actor } from "../../identity/actor.ts";
import type { ToolDefinition } from "../../integrations/tool.ts";
import type { Connection } from "../connection.ts";
import type { ToolPins } from "./accepted-definitions.ts";

/** Pins with what stands for them. */
export interface KeptPins {
  readonly pins: ToolPins;
  readonly digest: string;
  /** Definitions that are kept with them, because their upstream may not say them again. */
  readonly definitions: readonly ToolDefinition[];
}

/** What a connection is to hold from now on. */
export interface PinsToKeep extends KeptPins {
  /** How many tools the upstream would have otherwise. */
  readonly changedTools: number;
  /** Whether those who watch the connection hear of it. */
  readonly isNews: boolean;
  /** Who accepted the definitions of which tools; undefined for what is pinned without being asked. */
  readonly accepted?: { readonly actor: Actor; readonly toolNames: readonly string[] };
}

/**
 * Pins at rest. Definitions and pins are kept once, by their digests, however many connections hold them; who holds them
 * is said in the connection's own row.
 */
export interface PinStore {
  /** The pins with this digest, as a connection of the account names it. */
  find(digest: string): Promise<ToolPins | undefined>;
  /** The definitions with these digests, as pins name them; those that are not kept are left out. */
  findDefinitions(digests: readonly string[]): Promise<ReadonlyMap<string, ToolDefinition>>;
  /**
   * Has the connection hold these pins, if it still holds the ones it had, under the same key and still by its owner's
   * word. Undefined, and nothing changed, otherwise.
   */
  keep(connection: Connection, kept: PinsToKeep): Promise<Connection | undefined>;
}
