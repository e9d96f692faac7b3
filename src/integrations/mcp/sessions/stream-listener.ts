import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { UpstreamNotification } from "../../features.ts";
import { LOG_LEVELS, type McpLogLevel, type Relay } from "../../relay.ts";
import { isResponse, messagesIn } from "./json-rpc.ts";
import type { UpstreamSession } from "./session.ts";

/** Requests of a server answered per stream and period; more could make the client send without end. */
const MAX_SERVER_REQUESTS = 32;
/** In milliseconds; a notification stream may stay open for days. */
const SERVER_REQUESTS_MS = 10_000;

export interface StreamListener {
  /** Reads the text of an event; returns true once the response has arrived. A promise while a handler is running. */
  read(text: string): boolean | Promise<boolean>;
  response(): JsonObject | undefined;
  /** The text of the event with the response. */
  responseText(): string | undefined;
}

export interface StreamHandlers {
  /** Sends a response to a request of the server. */
  readonly reply: (message: JsonObject) => void;
  readonly relay: Relay | undefined;
  readonly onNotification: (notification: UpstreamNotification) => void;
}

export function createStreamListener(session: UpstreamSession, id: number, handlers: StreamHandlers): StreamListener {
  let response: JsonObject | undefined;
  let responseText: string | undefined;
  let answered = 0;
  let answeredSinceMs = 0;
  const answerRequest = (requestId: JsonValue, method: string): void => {
    if (performance.now() - answeredSinceMs > SERVER_REQUESTS_MS) {
      answered = 0;
      answeredSinceMs = performance.now();
    }
    answered += 1;
    if (answered > MAX_SERVER_REQUESTS) return;
    if (method === "ping") handlers.reply({ id: requestId, result: {} });
    else
      handlers.reply({ id: requestId, error: { code: -32601, message: `${method} is not supported by this client` } });
  };
  const handle = (message: JsonObject): void | Promise<void> => {
    const { id: messageId, method } = message;
    if (isResponse(message, id)) response = message;
    else if (typeof method !== "string") return;
    else if (messageId === undefined) return forward(method, isJsonObject(message.params) ? message.params : {});
    else if (session.revision === "legacy") answerRequest(messageId, method);
  };
  const forward = (method: string, params: JsonObject): void | Promise<void> => {
    const { relay } = handlers;
    const notification = notificationOf(method, params);
    if (notification !== undefined) handlers.onNotification(notification);
    else if (method === "notifications/progress" && params.progressToken === id) {
      const { progressToken: _ours, ...progress } = params;
      return relay?.onProgress?.(progress);
    } else if (method === "notifications/message" && isSevereEnough(params.level, relay?.logLevel)) {
      return relay?.onMessage?.({ method, params });
    }
  };
  const handleAll = async (first: Promise<void>, rest: readonly JsonObject[]): Promise<boolean> => {
    await first;
    for (const message of rest) await handle(message);
    return response !== undefined;
  };
  return {
    read: (text) => {
      const messages = messagesIn(text);
      if (messages.some((message) => isResponse(message, id))) responseText = text;
      for (const [index, message] of messages.entries()) {
        const handling = handle(message);
        if (handling instanceof Promise) return handleAll(handling, messages.slice(index + 1));
      }
      return response !== undefined;
    },
    response: () => response,
    responseText: () => responseText,
  };
}

function notificationOf(method: string, { uri }: JsonObject): UpstreamNotification | undefined {
  switch (method) {
    case "notifications/tools/list_changed":
      return { kind: "list_changed", list: "tools" };
    case "notifications/resources/list_changed":
      return { kind: "list_changed", list: "resources" };
    case "notifications/prompts/list_changed":
      return { kind: "list_changed", list: "prompts" };
    case "notifications/resources/updated":
      return typeof uri === "string" ? { kind: "updated", uri } : undefined;
    default:
      return undefined;
  }
}

/** The session is shared: another caller may have set a lower level. */
function isSevereEnough(level: JsonValue | undefined, wanted: McpLogLevel | undefined): boolean {
  const severity = LOG_LEVELS.findIndex((known) => known === level);
  return severity >= (wanted === undefined ? 0 : LOG_LEVELS.indexOf(wanted));
}
