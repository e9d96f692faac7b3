import { LOG_LEVELS, type McpLogLevel, type Relay } from "../../integrations/relay.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { notificationText } from "./message.ts";
import type { Reply } from "./reply.ts";

/** What of its log messages a client wants: those from a level on, all, or none. */
export type LogWish = McpLogLevel | "all" | "none";

const NOTHING: Relay = {};

/** What goes to the client while its request is under way: progress if it gave a token, log messages as it wishes. */
export function createRelay(params: JsonObject, logWish: LogWish, reply: Reply): Relay {
  if (!reply.canNotify) return NOTHING;
  const meta = params._meta;
  const progressToken = isJsonObject(meta) ? meta.progressToken : undefined;
  const hasToken = typeof progressToken === "string" || typeof progressToken === "number";
  if (!hasToken && logWish === "none") return NOTHING;
  return {
    ...(hasToken && {
      onProgress: (progress) =>
        reply.notify(notificationText("notifications/progress", { ...progress, progressToken })),
    }),
    ...(logWish !== "none" && {
      onMessage: ({ method, params: message }) => {
        if (logWish === "all" || isAtLeast(message.level, logWish))
          return reply.notify(notificationText(method, message));
      },
      logLevel: logWish === "all" ? undefined : logWish,
    }),
  };
}

/** A level by its word; undefined for what is none. */
export function readLogLevel(word: unknown): McpLogLevel | undefined {
  return LOG_LEVELS.find((level) => level === word);
}

function isAtLeast(word: unknown, least: McpLogLevel): boolean {
  const level = readLogLevel(word);
  // What has no level that we know is not for us to keep back.
  return level === undefined || LOG_LEVELS.indexOf(level) >= LOG_LEVELS.indexOf(least);
}
