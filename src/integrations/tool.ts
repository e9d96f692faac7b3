import { printInKeyOrder, type JsonObject } from "../json.ts";
import type { InputRequired } from "./relayed-client.ts";
import type { UpstreamTask } from "./tasks.ts";

/** The longest time that MCP clients may cache a list, in milliseconds. Listeners are notified of changes earlier. */
export const LIST_TTL_MS = 30_000;

/** MCP's tool hints, where the integration states them. */
export interface ToolHints {
  /** Whether the tool may change or delete existing data. */
  readonly destructive?: boolean;
  /** Whether repeating a call with the same arguments has no further effect. */
  readonly idempotent?: boolean;
  /** Whether the tool reaches beyond the product, like a web search. */
  readonly openWorld?: boolean;
}

/** A tool as its integration defines it. */
export interface ToolDefinition {
  /** Unique within the integration. Contracts use `^[A-Za-z0-9_-]{1,64}$`; upstream MCP servers may use other names. */
  readonly name: string;
  readonly description: string;
  /** JSON Schema, Draft 7, `type: object`. */
  readonly inputSchema: JsonObject;
  /** JSON Schema of `structuredContent`. */
  readonly outputSchema?: JsonObject;
  /** Metadata of the specification's Tool. */
  readonly annotations: {
    readonly audience: readonly string[];
    readonly requiresAuth: boolean;
    readonly category?: string;
  };
  /** Tools without a mark count as writing. */
  readonly readOnly: boolean;
  readonly hints?: ToolHints;
  /**
   * Identifies the upstream's definition, independent of our conversion: a new digest is a new definition that the
   * owner must accept. Absent when only a release can change the tool.
   */
  readonly digest?: string;
  /** How a call is sent, such as `POST /orders`, for the owner's review. */
  readonly request?: string;
  /** Further MCP fields of the upstream's list (`title`, `icons`, `annotations`, `_meta`), for MCP clients only. */
  readonly listed?: JsonObject;
  /** The tool as the MCP server wrote it, for MCP clients only. */
  readonly json?: string;
  /** The upstream's time to live of the list in milliseconds, if shorter than `LIST_TTL_MS`. */
  readonly ttlMs?: number;
}

/** Prints what identifies a tool for callers, equal for equal tools whatever the order of their keys. */
export function printCanonicalTool(definition: ToolDefinition): string {
  const { json, annotations, readOnly, digest, ttlMs } = definition;
  if (json === undefined) return printInKeyOrder(definition);
  const upstream: unknown = JSON.parse(json);
  return printInKeyOrder({ upstream, annotations, readOnly, digest, ttlMs });
}

/**
 * An upstream's fault: `down` (no answer or 5xx), `busy` (429), `held_back` (not sent because of a rate limit),
 * `refused_key` or `other`.
 */
export type UpstreamFault = "down" | "busy" | "held_back" | "refused_key" | "other";

/** The outcome of a call in MCP's terms. Failures of the tool or upstream set `isError`. */
export interface CallResult {
  /** MCP content blocks. */
  readonly content: readonly JsonObject[];
  readonly isError: boolean;
  readonly structuredContent?: JsonObject;
  /** The whole result as the MCP server wrote it, without fields of a protocol revision. For MCP clients only. */
  readonly json?: string;
  /** Set when the tool needs input first; then there is no content. Only for callers that set `client.input`. */
  readonly inputRequired?: InputRequired;
  /** Set when the upstream continues the call as a task; then there is no content. Only for clients that declare tasks. */
  readonly task?: UpstreamTask;
  /** Approximate size of the answer; internal. */
  readonly bytes?: number;
  /** Set with `isError` for upstream faults. For the history and the connection's health; internal. */
  readonly upstreamFault?: UpstreamFault;
}

/** `text` says what failed and what to do, and contains no secret. */
export function errorResult(text: string, upstreamFault?: UpstreamFault): CallResult {
  const result = { content: [{ type: "text", text }], isError: true };
  return upstreamFault === undefined ? result : { ...result, upstreamFault };
}
