import type { ToolDefinition } from "../../integrations/tool.ts";

/** The last list an upstream gave. */
export interface StoredToolList {
  /** The key it was fetched with. */
  readonly keyVersion: number;
  readonly tools: readonly ToolDefinition[];
  /** Tells two lists apart. */
  readonly digest: string;
  readonly fetchedAt: Date;
}

/** Tool lists at rest, so that a restart or an upstream that is down costs nobody their tools. */
export interface ToolListStore {
  find(accountId: string, connectionId: number): Promise<StoredToolList | undefined>;
  /** Keeps a list, if the connection still exists with that key; tells every replica when it differs from the one before. */
  save(accountId: string, connectionId: number, list: StoredToolList): Promise<void>;
}

/** Interns tool names: one integer a name, the same for every connection and for good. */
export interface ToolNames {
  /** The ids of the names, in their order. Makes those that are new. */
  intern(names: readonly string[]): Promise<readonly number[]>;
}
