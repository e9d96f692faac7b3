import type { JsonObject } from "../json.ts";

/** What a tool does beside reading, where its integration says so. MCP takes the worst for what is not said. */
export interface ToolHints {
  /** Whether it may change or delete what is there, not only add to it. */
  readonly destructive?: boolean;
  /** Whether calling it again with the same arguments changes nothing more. */
  readonly idempotent?: boolean;
  /** Whether it reaches beyond the product itself, as a search of the web does. */
  readonly openWorld?: boolean;
}

/** A tool as its integration defines it, before any connection narrows it. */
export interface ToolDefinition {
  /** Unique within the integration; `^[A-Za-z0-9_-]{1,64}$` for contracts of ours, as the upstream calls it otherwise. */
  readonly name: string;
  /** What it does, for a person or a model. */
  readonly description: string;
  /** JSON Schema, Draft 7, `type: object`. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of `structuredContent`, where the integration gives one. */
  readonly outputSchema?: JsonObject;
  /** Metadata of the specification's Tool. */
  readonly annotations: {
    readonly audience: readonly string[];
    readonly requiresAuth: boolean;
    readonly category?: string;
  };
  /** Whether it only reads. Absent marks count as writing. */
  readonly readOnly: boolean;
  readonly hints?: ToolHints;
  /**
   * Stands for all that the upstream states of the tool, whatever we make of it: another digest is another definition, which
   * its connection's owner has to accept. Absent where only a release of ours can change it, as in the catalog.
   */
  readonly digest?: string;
  /** How it is sent, for a person to judge by, such as `POST /orders`; where the upstream's document says. */
  readonly request?: string;
  /** What else an MCP server lists of it, as it came: of `title`, `icons`, `annotations` and `_meta` those it gives. For MCP clients alone. */
  readonly listed?: JsonObject;
}

/**
 * How the upstream, not the tool, failed a call: it was `down` (no answer, or one that says that it cannot work), `busy` (too
 * many requests), it `refused_key`, or failed in some `other` way. `held_back`: nothing was sent, so as not to be too many.
 */
export type UpstreamFault = "down" | "busy" | "held_back" | "refused_key" | "other";

/** The outcome of a call in MCP's terms. What a tool or its upstream did wrong is `isError`, never a throw. */
export interface CallResult {
  /** MCP content blocks, at least one. */
  readonly content: readonly JsonObject[];
  readonly isError: boolean;
  /** The result as data, where the tool gives one. */
  readonly structuredContent?: JsonObject;
  /** What an MCP server says beside the result, `_meta`. For MCP clients alone. */
  readonly meta?: JsonObject;
  /** About how large it was when it came, where that is known; never sent out. */
  readonly bytes?: number;
  /** With `isError`: that it was the upstream's fault. For the history and the connection's health; never sent out. */
  readonly upstreamFault?: UpstreamFault;
}

/** A failed call that says in one text block what was wrong and what to do. Never a secret. */
export function errorResult(text: string, upstreamFault?: UpstreamFault): CallResult {
  const result = { content: [{ type: "text", text }], isError: true };
  return upstreamFault === undefined ? result : { ...result, upstreamFault };
}
