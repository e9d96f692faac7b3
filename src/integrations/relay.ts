import type { JsonObject } from "../json.ts";
import type { RelayedClient } from "./relayed-client.ts";

/** MCP's log levels, least severe first. */
export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

export type McpLogLevel = (typeof LOG_LEVELS)[number];

export interface Notification {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * Receives messages during a request. The sender awaits each call before it reads on, so that a slow caller slows its
 * upstream and nothing accumulates. Callbacks never reject.
 */
export interface Relay {
  /** Receives `progress`, `total` and `message` without the `progressToken`. */
  readonly onProgress?: ((progress: JsonObject) => void | Promise<void>) | undefined;
  /** Receives `notifications/message`. */
  readonly onMessage?: ((notification: Notification) => void | Promise<void>) | undefined;
  /** The least severe level to receive; undefined leaves the upstream's level unchanged. */
  readonly logLevel?: McpLogLevel | undefined;
  /** Undefined for a caller that cannot answer upstreams. */
  readonly client?: RelayedClient | undefined;
  readonly trace?: TraceContext | undefined;
}

/** The W3C trace context of the caller, passed on as it came. */
export interface TraceContext {
  /** Entries of `params._meta` (SEP-414). */
  readonly meta: JsonObject | undefined;
  /** Alternating names and values. */
  readonly headers: readonly string[];
}
