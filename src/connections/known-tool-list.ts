import type { ToolDefinition } from "../integrations/tool.ts";

/** A list of tools in memory: definitions by name, with their ids beside them. It keeps its identity while it stays the same. */
export interface KnownToolList {
  readonly digest: string;
  readonly definitions: readonly ToolDefinition[];
  readonly ids: readonly number[];
  /** Nobody keeps the definitions but this service: those that are pinned have to be kept with the pins. */
  readonly isTransient: boolean;
  /** What the upstream offers instead of definitions that are in force, by name; the owner has not accepted it. */
  readonly pending?: ReadonlyMap<string, ToolDefinition>;
}
