import type { Logger } from "pino";
import { LOG_LEVELS, type LogLevel } from "../relay.ts";
import type { CallOptions } from "../target.ts";
import type { Requester } from "./request.ts";
import type { Session } from "./sessions/session.ts";
import { UpstreamFailure } from "./failures/upstream-failure.ts";

/** Makes upstreams with sessions speak as much as the most curious caller of the session wants; others hear less of it. */
export interface LogLevels {
  /** Asks the session's upstream for the level that a caller listens at, unless it was asked for as much already. Throws only the signal's reason. */
  ensure(session: Session, caller: CallOptions): Promise<void>;
}

/** How long a request waits until its upstream has agreed to speak, in milliseconds. */
const PATIENCE_MS = 5_000;

/** Levels by session, forgotten with it. */
export function createLogLevels({ requester, log }: { requester: Requester; log: Logger }): LogLevels {
  const asked = new WeakMap<Session, { readonly level: LogLevel; readonly done: Promise<void> }>();

  async function ask(session: Session, level: LogLevel): Promise<void> {
    const deadlineMs = performance.now() + PATIENCE_MS;
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
      if (session.era === "stateless") return;
      const before = asked.get(session);
      const isEnough = before !== undefined && LOG_LEVELS.indexOf(before.level) <= LOG_LEVELS.indexOf(level);
      const done = isEnough ? before.done : ask(session, level);
      if (!isEnough) asked.set(session, { level, done });
      await done;
      signal.throwIfAborted();
    },
  };
}
