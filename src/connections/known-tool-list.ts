import type { ToolDefinition } from "../integrations/tool.ts";

/** A cached tool list: definitions sorted by name, with their ids. The object stays the same while the list does. */
export interface KnownToolList {
  readonly digest: string;
  readonly definitions: readonly ToolDefinition[];
  readonly ids: readonly number[];
  /** The definitions are not stored elsewhere, so accepted ones must be stored with their set. */
  readonly isTransient: boolean;
  /** Proposed definitions that the owner has not accepted, by name. */
  readonly pending?: ReadonlyMap<string, ToolDefinition>;
}
