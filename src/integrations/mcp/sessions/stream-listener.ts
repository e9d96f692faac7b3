import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { UpstreamNews } from "../../features.ts";
import { LOG_LEVELS, type LogLevel, type Relay } from "../../relay.ts";
import { isResponse, messagesIn } from "../json-rpc.ts";
import type { Session } from "./session.ts";

/** How many requests of a server are answered on one stream within a while: more would let it make us send without end. */
const MAX_SERVER_REQUESTS = 32;
/** That while, in milliseconds: a stream outside any request may stay open for days. */
const SERVER_REQUESTS_MS = 10_000;

/** What is heard on the stream that answers a request. */
export interface StreamListener {
  /** Takes the text of an event; true once the response has been heard. A promise while somebody is still listening to it. */
  hear(text: string): boolean | Promise<boolean>;
  response(): JsonObject | undefined;
}

/** To whom a listener passes on what it hears. */
export interface Hearers {
  /** Sends the answer to what the server asks meanwhile. */
  readonly reply: (message: JsonObject) => void;
  readonly relay: Relay | undefined;
  readonly onNews: (news: UpstreamNews) => void;
}

/** Keeps the awaited response, and passes on what the server says before it. */
export function createStreamListener(session: Session, id: number, hearers: Hearers): StreamListener {
  let response: JsonObject | undefined;
  let served = 0;
  let servedSinceMs = 0;
  const serve = (requestId: JsonValue, method: string): void => {
    if (performance.now() - servedSinceMs > SERVER_REQUESTS_MS) {
      served = 0;
      servedSinceMs = performance.now();
    }
    served += 1;
    if (served > MAX_SERVER_REQUESTS) return;
    if (method === "ping") hearers.reply({ id: requestId, result: {} });
    else
      hearers.reply({ id: requestId, error: { code: -32601, message: `${method} is not supported by this client` } });
  };
  const take = (message: JsonObject): void | Promise<void> => {
    const { id: messageId, method } = message;
    if (isResponse(message, id)) response = message;
    else if (typeof method !== "string") return;
    else if (messageId === undefined) return pass(method, isJsonObject(message.params) ? message.params : {});
    else if (session.era === "handshake") serve(messageId, method);
  };
  const pass = (method: string, params: JsonObject): void | Promise<void> => {
    const { relay } = hearers;
    const news = newsOf(method, params);
    if (news !== undefined) hearers.onNews(news);
    else if (method === "notifications/progress" && params.progressToken === id) {
      const { progressToken: _ours, ...progress } = params;
      return relay?.onProgress?.(progress);
    } else if (method === "notifications/message" && isLoudEnough(params.level, relay?.logLevel)) {
      return relay?.onMessage?.({ method, params });
    }
  };
  const takeAll = async (first: Promise<void>, rest: readonly JsonObject[]): Promise<boolean> => {
    await first;
    for (const message of rest) await take(message);
    return response !== undefined;
  };
  return {
    hear: (text) => {
      const messages = messagesIn(text);
      for (const [index, message] of messages.entries()) {
        const taken = take(message);
        if (taken instanceof Promise) return takeAll(taken, messages.slice(index + 1));
      }
      return response !== undefined;
    },
    response: () => response,
  };
}

/** What a notification says of the upstream itself, or undefined for one about a request. */
function newsOf(method: string, { uri }: JsonObject): UpstreamNews | undefined {
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

/** A session is shared: its upstream may speak for another caller who wants to hear more. */
function isLoudEnough(level: JsonValue | undefined, wanted: LogLevel | undefined): boolean {
  const severity = LOG_LEVELS.findIndex((known) => known === level);
  return severity >= (wanted === undefined ? 0 : LOG_LEVELS.indexOf(wanted));
}
