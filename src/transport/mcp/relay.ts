import { LOG_LEVELS, type McpLogLevel, type Relay } from "../../integrations/relay.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { notificationText } from "./message.ts";
import type { RequestStream } from "./reply.ts";

/** The lowest level of log messages that the client receives. */
export type LogFilter = McpLogLevel | "all" | "none";

const NOTHING: Relay = {};

/** Sends progress and log messages to the client during a request, if it requested them. */
export function createRelay(params: JsonObject, logFilter: LogFilter, reply: RequestStream): Relay {
  if (!reply.canNotify) return NOTHING;
  const meta = params._meta;
  const progressToken = isJsonObject(meta) ? meta.progressToken : undefined;
  const hasToken = typeof progressToken === "string" || typeof progressToken === "number";
  if (!hasToken && logFilter === "none") return NOTHING;
  return {
    ...(hasToken && {
      onProgress: (progress) =>
        reply.notify(notificationText("notifications/progress", { ...progress, progressToken })),
    }),
    ...(logFilter !== "none" && {
      onMessage: ({ method, params: message }) => {
        if (logFilter === "all" || isAtLeast(message.level, logFilter))
          return reply.notify(notificationText(method, message));
      },
      logLevel: logFilter === "all" ? undefined : logFilter,
    }),
  };
}

export function readLogLevel(word: unknown): McpLogLevel | undefined {
  return LOG_LEVELS.find((level) => level === word);
}

function isAtLeast(word: unknown, least: McpLogLevel): boolean {
  const level = readLogLevel(word);
  // Messages of unknown level are sent.
  return level === undefined || LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}
