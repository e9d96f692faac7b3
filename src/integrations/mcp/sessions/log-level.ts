import type { Logger } from "pino";
import { LOG_LEVELS, type McpLogLevel } from "../../relay.ts";
import type { CallOptions } from "../../target.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/**
 * Sets an upstream session's log level to the lowest level that any caller wants, and filters the messages for the
 * other callers.
 */
export interface LogLevels {
  /** Lowers the session's level if needed. Throws only the signal's reason. */
  ensure(session: UpstreamSession, caller: CallOptions): Promise<void>;
}

/** Milliseconds that a request waits for the level to be set. */
const TIMEOUT_MS = 5_000;

export function createLogLevels({ requester, log }: { requester: Requester; log: Logger }): LogLevels {
  const requested = new WeakMap<UpstreamSession, { readonly level: McpLogLevel; readonly done: Promise<void> }>();

  async function setLevel(session: UpstreamSession, level: McpLogLevel): Promise<void> {
    const deadlineMs = performance.now() + TIMEOUT_MS;
    try {
      await requester.request(session, { method: "logging/setLevel", params: { level }, deadlineMs });
    } catch (error) {
      // The actual request follows and reports the upstream's problem.
      const reason = error instanceof UpstreamFailure ? error.message : "unexpected";
      log.debug({ host: session.endpoint.label, reason }, "MCP log level not set");
    }
  }

  return {
    ensure: async (session, { logLevel: level, onMessage, signal }) => {
      if (level === undefined || onMessage === undefined || session.capabilities.logging === undefined) return;
      // Modern requests carry their own level.
      if (session.revision === "modern") return;
      const before = requested.get(session);
      const isEnough = before !== undefined && LOG_LEVELS.indexOf(before.level) <= LOG_LEVELS.indexOf(level);
      const done = isEnough ? before.done : setLevel(session, level);
      if (!isEnough) requested.set(session, { level, done });
      await done;
      signal.throwIfAborted();
    },
  };
}
