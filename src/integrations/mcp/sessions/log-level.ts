import type { Logger } from "pino";
import { LOG_LEVELS, type McpLogLevel } from "../../relay.ts";
import type { CallOptions } from "../../target.ts";
import type { Requester } from "./request.ts";
import type { UpstreamSession } from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/** Makes upstreams with sessions speak as much as the most curious caller of the session wants; others hear less of it. */
export interface LogLevels {
  /** Asks the session's upstream for the level that a caller listens at, unless it was asked for as much already. Throws only the signal's reason. */
  ensure(session: UpstreamSession, caller: CallOptions): Promise<void>;
}

/** How long a request waits until its upstream has agreed to speak, in milliseconds. */
const TIMEOUT_MS = 5_000;

/** Levels by session, forgotten with it. */
export function createLogLevels({ requester, log }: { requester: Requester; log: Logger }): LogLevels {
  const requested = new WeakMap<UpstreamSession, { readonly level: McpLogLevel; readonly done: Promise<void> }>();

  async function setLevel(session: UpstreamSession, level: McpLogLevel): Promise<void> {
    const deadlineMs = performance.now() + TIMEOUT_MS;
    try {
      await requester.request(session, { method: "logging/setLevel", params: { level }, deadlineMs });
    } catch (error) {
      // The request itself goes out all the same, and says what is wrong with the upstream.
      const reason = error instanceof UpstreamFailure ? error.message : "unexpected";
      log.debug({ host: session.endpoint.label, reason }, "MCP log level not set");
    }
  }

  return {
    ensure: async (session, { logLevel: level, onMessage, signal }) => {
      if (level === undefined || onMessage === undefined || session.capabilities.logging === undefined) return;
      // Without a handshake every request names its own.
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
