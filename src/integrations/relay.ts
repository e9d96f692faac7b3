import type { JsonObject } from "../json.ts";

/** MCP's levels of log messages, the least severe first. */
export const LOG_LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"] as const;

/** One of them. */
export type McpLogLevel = (typeof LOG_LEVELS)[number];

/** A message that asks for no answer, as MCP defines it. */
export interface Notification {
  readonly method: string;
  readonly params: JsonObject;
}

/**
 * What a caller wants to hear while its request is under way. Whoever speaks with the upstream awaits each call before it
 * reads on, so that a slow caller slows its upstream and nothing piles up in between. Neither ever rejects.
 */
export interface Relay {
  /** Hears of progress: `progress`, `total`, `message` as the upstream gave them, without its `progressToken`. Absent: nobody asked. */
  readonly onProgress?: ((progress: JsonObject) => void | Promise<void>) | undefined;
  /** Hears `notifications/message` about the request. Absent: nobody listens. */
  readonly onMessage?: ((notification: Notification) => void | Promise<void>) | undefined;
  /** The least severe level to hear of. Undefined: whatever the upstream says unasked. */
  readonly logLevel?: McpLogLevel | undefined;
}
