import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { UpstreamNotification } from "../../features.ts";
import { LOG_LEVELS, type McpLogLevel, type Relay } from "../../relay.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import { createServerRequests, type ServerRequests } from "./server-requests.ts";
import { isResponse, messagesIn } from "./json-rpc.ts";
import type { UpstreamSession } from "./session.ts";

export interface StreamListener {
  /**
   * Reads the text of an event; returns true once the response has arrived. Returns a promise while a handler is
   * running.
   */
  read(text: string): boolean | Promise<boolean>;
  response(): JsonObject | undefined;
  /** The text of the event with the response. */
  responseText(): string | undefined;
  /** Must be called when reading ends. */
  close(): void;
}

export interface StreamHandlers {
  /** Sends a response to a request of the server. */
  readonly reply: (message: JsonObject) => void;
  readonly relay: Relay | undefined;
  /** Returns who can answer requests of the server now. */
  readonly client: () => RelayedClient | undefined;
  readonly onNotification: (notification: UpstreamNotification) => void;
}

export function createStreamListener(session: UpstreamSession, id: number, handlers: StreamHandlers): StreamListener {
  let response: JsonObject | undefined;
  let responseText: string | undefined;
  let requests: ServerRequests | undefined;
  const handle = (message: JsonObject): void | Promise<void> => {
    const { id: messageId, method } = message;
    if (isResponse(message, id)) {
      response = message;
      return;
    }
    if (typeof method !== "string") return;
    const params = isJsonObject(message.params) ? message.params : {};
    if (messageId === undefined) return forward(method, params);
    if (session.revision === "modern") return;
    requests ??= createServerRequests(handlers.client, handlers.reply);
    requests.answer(messageId, method, params);
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
    } else if (method === "notifications/cancelled") requests?.cancel(params.requestId);
    else if (method === "notifications/elicitation/complete") handlers.client()?.notify(method, params);
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
    close: () => requests?.close(),
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
