import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { Logger } from "pino";
import { isJsonObject, printJson, type JsonObject } from "../../../json.ts";
import { withMembers } from "../../../json-text.ts";
import { answerFailure } from "./answer-failure.ts";
import { awaitChannelResponse } from "./await-channel-response.ts";
import { followChannel } from "./event-channel.ts";
import { createChannelOpener, type OpenChannel } from "./open-event-channel.ts";
import { sendMcpMessage, type McpAnswer, type McpExchangeRequest } from "../http/mcp-exchange.ts";
import { errorOf, messagesIn, responseAmong, resultTextIn } from "./json-rpc.ts";
import type { UpstreamNotification } from "../../features.ts";
import type { Relay } from "../../relay.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import type { UpstreamSession } from "./session.ts";
import { mirrorHeaders, requestMeta } from "./request-metadata.ts";
import { createStreamListener } from "./stream-listener.ts";
import { transportFailure } from "../failures/transport-failure.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/** Maximum number of resumptions of one request's stream that bring no event. */
const MAX_FRUITLESS_RESUMES = 5;
/** Minimum number of milliseconds between resumptions, even if the server requests no pause. */
const MIN_RESUME_PAUSE_MS = 200;

const EVENT_STREAM = "text/event-stream";
const LISTEN = "subscriptions/listen";

/** Timeout of messages that no caller waits for, in milliseconds. */
const NOTIFY_TIMEOUT_MS = 10_000;

export interface McpRequest {
  readonly method: string;
  /** Without `_meta`. */
  readonly params: JsonObject;
  /** The name or URI of the tool, prompt or resource, which 2026-07-28 repeats in a header. */
  readonly name?: string | undefined;
  /** Additional headers, alternating names and values. */
  readonly headers?: readonly string[];
  readonly relay?: Relay | undefined;
  readonly onNotification?: ((notification: UpstreamNotification) => void) | undefined;
  /** On the clock of `performance.now()`. Undefined for calls, which their signal ends. */
  readonly deadlineMs: number | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface McpReply {
  readonly result: JsonObject;
  /** Returns the result as the server wrote it, without the fields that 2026-07-28 adds. */
  readonly text: () => string;
  /** Bytes of the whole answer. */
  readonly bytes: number;
  /** Set in the answer to `initialize`. */
  readonly sessionId: string | undefined;
}

export interface ListenRequest {
  readonly uris: readonly string[];
  readonly listener: (notification: UpstreamNotification) => void;
  /** Returns the client that can now answer requests of the server. */
  readonly client?: (() => RelayedClient | undefined) | undefined;
  /** Called once when the stream is open. */
  readonly onStream?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** Sends JSON-RPC over Streamable HTTP or HTTP+SSE. */
export interface Requester {
  /**
   * Sends a request once and awaits its result, as JSON or from a stream. Resumes a stream that ended early. Throws
   * UpstreamFailure, or the signal's reason after canceling the request upstream.
   */
  request(session: UpstreamSession, request: McpRequest): Promise<McpReply>;
  /** Sends a message without a result. Never throws: the next request reports the problem. */
  notify(session: UpstreamSession, message: JsonObject): Promise<void>;
  /**
   * Listens for notifications of these resources and of the lists until the stream ends. Throws UpstreamFailure if the
   * server does not offer such a stream, or the signal's reason.
   */
  listen(session: UpstreamSession, request: ListenRequest): Promise<void>;
  readonly openChannel: OpenChannel;
  /** Closes an upstream session within so many milliseconds. Never throws. */
  close(session: UpstreamSession, timeoutMs?: number): void;
}

export interface RequesterDeps {
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
}

export function createRequester({ dispatcher, log }: RequesterDeps): Requester {
  const send = (
    session: UpstreamSession,
    what: Partial<McpExchangeRequest> & { extra?: readonly string[] },
  ): Promise<McpAnswer> => {
    const { extra = [], ...rest } = what;
    const { origin, bearer } = session.endpoint;
    const path = session.channel?.path ?? session.endpoint.path;
    const headers = [...session.headers, ...extra];
    const request = { method: "POST", timeoutMs: NOTIFY_TIMEOUT_MS, ...rest, origin, path, headers } as const;
    if (bearer === undefined) return sendMcpMessage(dispatcher, request);
    const signal = request.signal ?? AbortSignal.timeout(Math.ceil(request.timeoutMs ?? NOTIFY_TIMEOUT_MS));
    return bearer.send(signal, (own) => sendMcpMessage(dispatcher, { ...request, headers: [...headers, ...own] }));
  };
  const notify = async (session: UpstreamSession, message: JsonObject): Promise<void> => {
    try {
      await send(session, { body: printJson({ jsonrpc: "2.0", ...message }) });
    } catch (error) {
      log.debug(logFields(session, error), "MCP message not delivered");
    }
  };

  return {
    request: async (session, request) => {
      const { signal, deadlineMs } = request;
      const id = session.nextRequestId();
      const { method, name, relay } = request;
      const reader = createStreamListener(session, id, {
        reply: (message) => void notify(session, message),
        relay,
        client: () => relay?.client,
        onNotification: (notification) => request.onNotification?.(notification),
      });
      const meta = requestMeta(session.revision, id, relay);
      const params = meta === undefined ? request.params : { ...request.params, _meta: meta };
      const body = printJson({ jsonrpc: "2.0", id, method, params });
      const mirrored = session.revision === "modern" ? mirrorHeaders(method, name) : [];
      const limits = () => ({
        timeoutMs: deadlineMs === undefined ? undefined : Math.max(1, deadlineMs - performance.now()),
        signal,
      });
      const onEvent: McpExchangeRequest["onEvent"] = (event) => event.type === "message" && reader.read(event.data);
      try {
        const extra = [...mirrored, ...(request.headers ?? []), ...(relay?.trace?.headers ?? [])];
        const { channel } = session;
        if (channel?.closing.signal.aborted === true) throw channelClosed(session);
        const answer = await (channel === undefined
          ? send(session, { body, ...limits(), onEvent, extra })
          : awaitChannelResponse(channel, {
              ...{ id, reader, ...limits() },
              post: (until) => send(session, { body, ...limits(), signal: until, extra }),
            }));
        const isCutShort =
          reader.response() === undefined && answer.status < 300 && answer.contentType === EVENT_STREAM;
        if (isCutShort) {
          await resume(session, answer, request, (lastEventId) =>
            send(session, { method: "GET", extra: ["last-event-id", lastEventId], ...limits(), onEvent }),
          );
          if (reader.response() === undefined) throw incompleteAnswer(session);
        }
        const message = reader.responseText() ?? answer.body.toString();
        const response = reader.response() ?? responseAmong(messagesIn(message), id);
        const result = response?.result;
        if (answer.status >= 300 || !isJsonObject(result)) throw answerFailure(answer, errorOf(response), session);
        const text = (): string => resultText(message, result, session);
        return { result, text, bytes: answer.bytes, sessionId: answer.sessionId };
      } catch (error) {
        const failure = transportFailure(error, session.endpoint);
        // Disconnecting cancels a modern request; `initialize` must not be canceled.
        const cancellable = session.revision === "legacy" && session.protocolVersion !== "";
        if (cancellable && (signal?.aborted === true || failure.kind === "timeout")) {
          void notify(session, {
            method: "notifications/cancelled",
            params: { requestId: id, reason: "no longer awaited" },
          });
        }
        signal?.throwIfAborted();
        throw failure;
      } finally {
        reader.close();
      }
    },
    notify,
    listen: async (session, { uris, listener, client, onStream, signal }) => {
      if (session.channel !== undefined) return followChannel(session.channel, listener, onStream, signal);
      const id = session.nextRequestId();
      const reader = createStreamListener(session, id, {
        reply: (message) => void notify(session, message),
        relay: undefined,
        client: client ?? (() => undefined),
        onNotification: listener,
      });
      const isModern = session.revision === "modern";
      try {
        const answer = await send(session, {
          ...(isModern ? { body: printJson(subscription(id, uris)) } : { method: "GET" as const }),
          extra: isModern ? mirrorHeaders(LISTEN) : [],
          isEndless: true,
          signal,
          onStream,
          onEvent: (event) => event.type === "message" && reader.read(event.data),
        });
        if (answer.contentType === EVENT_STREAM && answer.status < 300) return;
        const response = responseAmong(messagesIn(answer.body.toString()), id);
        throw answerFailure(answer, errorOf(response), session);
      } catch (error) {
        signal.throwIfAborted();
        throw transportFailure(error, session.endpoint);
      } finally {
        reader.close();
      }
    },
    openChannel: createChannelOpener({ send, reply: (session, message) => void notify(session, message) }),
    close: (session, timeoutMs = NOTIFY_TIMEOUT_MS) => {
      session.closing.abort();
      if (session.id === undefined) return;
      const { origin, path, bearer } = session.endpoint;
      // Uses the last token, since closing must not trigger a renewal.
      const headers = [...session.headers, ...(bearer?.last() ?? [])];
      sendMcpMessage(dispatcher, { method: "DELETE", timeoutMs, origin, path, headers }).catch((error: unknown) => {
        log.debug(logFields(session, error), "MCP session not closed");
      });
    },
  };
}

/**
 * 2025-11-25: a server may end a stream before its answer and let the client resume. Returns when the stream cannot
 * be resumed.
 */
async function resume(
  session: UpstreamSession,
  first: McpAnswer,
  { deadlineMs, signal }: McpRequest,
  get: (lastEventId: string) => Promise<McpAnswer>,
): Promise<void> {
  if (session.revision === "modern") return;
  let next = first.resume;
  for (let fruitless = 0; fruitless < MAX_FRUITLESS_RESUMES && next !== undefined;) {
    const { lastEventId } = next;
    const pauseMs = Math.max(next.afterMs, MIN_RESUME_PAUSE_MS);
    if (deadlineMs !== undefined && performance.now() + pauseMs > deadlineMs) return;
    await sleep(pauseMs, undefined, signal && { signal });
    const answer: McpAnswer = await get(lastEventId);
    // A rejected resumption does not tell whether the call was executed.
    next = answer.resume;
    fruitless = next?.lastEventId === lastEventId ? fruitless + 1 : 0;
  }
}

/** Opens a notification stream of the 2026-07-28 revision. */
function subscription(id: number, uris: readonly string[]): JsonObject {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [...uris],
  };
  const params = { notifications, _meta: requestMeta("modern", id, undefined) ?? {} };
  return { jsonrpc: "2.0", id, method: LISTEN, params };
}

/** Fields of a result that 2026-07-28 adds. */
const MODERN_FIELDS = { resultType: undefined, ttlMs: undefined, cacheScope: undefined };

function resultText(message: string, result: JsonObject, { revision }: UpstreamSession): string {
  const text = resultTextIn(message) ?? printJson(result);
  return revision === "modern" ? withMembers(text, MODERN_FIELDS) : text;
}

/** Nothing was sent, so that the request can be repeated in a new session. */
function channelClosed({ endpoint }: UpstreamSession): UpstreamFailure {
  return new UpstreamFailure("session_lost", `The MCP server at ${endpoint.label} closed its event stream.`);
}

function incompleteAnswer({ endpoint }: UpstreamSession): UpstreamFailure {
  return new UpstreamFailure("broken", `The MCP server at ${endpoint.label} ended its answer before it was complete.`);
}

/** The message only: some errors contain what the server sent. */
function logFields(session: UpstreamSession, error: unknown): { host: string; reason: string } {
  return { host: session.endpoint.label, reason: transportFailure(error, session.endpoint).message };
}
