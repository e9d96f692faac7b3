import type { ToolDefinition } from "../../integrations/tool.ts";

/** The last tool list of an upstream. */
export interface StoredToolList {
  /** The key version of the request. */
  readonly keyVersion: number;
  readonly tools: readonly ToolDefinition[];
  /** Differs between different lists. */
  readonly digest: string;
  readonly fetchedAt: Date;
}

/** Stores tool lists, so that tools survive a restart and an unavailable upstream. */
export interface ToolListStore {
  find(accountId: string, connectionId: number): Promise<StoredToolList | undefined>;
  /** Stores a list if the connection still has that key. Notifies every replica if it differs from the previous one. */
  save(accountId: string, connectionId: number, list: StoredToolList): Promise<void>;
}

/** Assigns each tool name one permanent integer, shared by all connections. */
export interface ToolNames {
  /** Returns the ids in the order of the names, and creates missing ones. */
  intern(names: readonly string[]): Promise<readonly number[]>;
}
