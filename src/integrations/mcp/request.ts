import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { Logger } from "pino";
import { isJsonObject, printJson, type JsonObject } from "../../json.ts";
import { answerFailure } from "./failures/answer-failure.ts";
import { exchange, type Answer, type ExchangeRequest } from "./exchange.ts";
import { errorOf, messagesIn, responseAmong } from "./json-rpc.ts";
import type { UpstreamNews } from "../features.ts";
import type { Relay } from "../relay.ts";
import type { Session } from "./sessions/session.ts";
import { mirrorHeaders, requestMeta } from "./stateless.ts";
import { createStreamListener } from "./sessions/stream-listener.ts";
import { transportFailure } from "./failures/transport-failure.ts";
import { UpstreamFailure } from "./failures/upstream-failure.ts";

/** How often a stream that ended early is resumed for one request. */
const MAX_RESUMES = 5;

const EVENT_STREAM = "text/event-stream";
const LISTEN = "subscriptions/listen";

/** For messages that no caller waits for, in milliseconds. */
const COURTESY_TIMEOUT_MS = 10_000;

/** One JSON-RPC request. */
export interface Request {
  readonly method: string;
  /** Without `_meta`. */
  readonly params: JsonObject;
  /** What it is about, by its name or URI: mirrored in a header where the revision asks for it. */
  readonly name?: string | undefined;
  /** Headers beyond the session's and the mirrored ones, names and values in turn. */
  readonly headers?: readonly string[];
  /** What is heard on the way. */
  readonly relay?: Relay | undefined;
  /** Hears what the upstream says of itself meanwhile. */
  readonly onNews?: ((news: UpstreamNews) => void) | undefined;
  /** When waiting ends, on the clock of `performance.now()`. */
  readonly deadlineMs: number;
  readonly signal?: AbortSignal | undefined;
}

/** What a request was answered with. */
export interface Reply {
  readonly result: JsonObject;
  /** Of the whole answer. */
  readonly bytes: number;
  /** Comes with the answer to `initialize`. */
  readonly sessionId: string | undefined;
}

/** What is listened to outside any request. */
export interface Listening {
  readonly uris: readonly string[];
  readonly hear: (news: UpstreamNews) => void;
  /** Told once the stream is there. */
  readonly onStream?: (() => void) | undefined;
  readonly signal: AbortSignal;
}

/** Speaks JSON-RPC over Streamable HTTP. */
export interface Requester {
  /**
   * Sends a request and awaits its result, as JSON or from a stream. It never sends one twice; a stream that ended early is
   * resumed. Throws UpstreamFailure, or the signal's reason after telling the upstream.
   */
  request(session: Session, request: Request): Promise<Reply>;
  /** Sends what has no result, and awaits its delivery. Never throws: the next request tells what is wrong. */
  notify(session: Session, message: JsonObject): Promise<void>;
  /**
   * Hears what the upstream says outside any request, until its stream ends: of these resources, and of its lists. Throws
   * UpstreamFailure when there is no such stream, or the signal's reason.
   */
  listen(session: Session, listening: Listening): Promise<void>;
  /** Tells the upstream that a session is over, within so many milliseconds. Never throws: it is a courtesy. */
  close(session: Session, timeoutMs?: number): void;
}

/** What a requester needs. */
export interface RequesterDeps {
  readonly dispatcher: Dispatcher;
  readonly log: Logger;
}

/** A requester over the guarded dispatcher. */
export function createRequester({ dispatcher, log }: RequesterDeps): Requester {
  const send = (session: Session, what: Partial<ExchangeRequest> & { extra?: readonly string[] }): Promise<Answer> => {
    const { extra = [], ...rest } = what;
    const { origin, path, bearer } = session.endpoint;
    const headers = [...session.headers, ...extra];
    const request = { method: "POST", timeoutMs: COURTESY_TIMEOUT_MS, ...rest, origin, path, headers } as const;
    if (bearer === undefined) return exchange(dispatcher, request);
    const signal = request.signal ?? AbortSignal.timeout(Math.ceil(request.timeoutMs));
    return bearer.send(signal, (own) => exchange(dispatcher, { ...request, headers: [...headers, ...own] }));
  };
  const notify = async (session: Session, message: JsonObject): Promise<void> => {
    try {
      await send(session, { body: printJson({ jsonrpc: "2.0", ...message }) });
    } catch (error) {
      log.debug(about(session, error), "MCP message not delivered");
    }
  };

  return {
    request: async (session, request) => {
      const { signal, deadlineMs } = request;
      const id = session.nextRequestId();
      const { method, name, relay } = request;
      const awaited = createStreamListener(session, id, {
        reply: (message) => void notify(session, message),
        relay,
        onNews: (news) => request.onNews?.(news),
      });
      const meta = requestMeta(session.era, id, relay);
      const params = meta === undefined ? request.params : { ...request.params, _meta: meta };
      const body = printJson({ jsonrpc: "2.0", id, method, params });
      const mirrored = session.era === "stateless" ? mirrorHeaders(method, name) : [];
      const limits = () => ({ timeoutMs: Math.max(1, deadlineMs - performance.now()), signal });
      const onEvent: ExchangeRequest["onEvent"] = (event) => event.type === "message" && awaited.hear(event.data);
      try {
        const answer = await send(session, {
          body,
          ...limits(),
          onEvent,
          extra: [...mirrored, ...(request.headers ?? [])],
        });
        const isCutShort =
          awaited.response() === undefined && answer.status < 300 && answer.contentType === EVENT_STREAM;
        if (isCutShort) {
          await resume(session, answer, request, (lastEventId) =>
            send(session, { method: "GET", extra: ["last-event-id", lastEventId], ...limits(), onEvent }),
          );
          if (awaited.response() === undefined) throw cutShort(session);
        }
        const response = awaited.response() ?? responseAmong(messagesIn(answer.body.toString()), id);
        const result = response?.result;
        if (answer.status >= 300 || !isJsonObject(result)) throw answerFailure(answer, errorOf(response), session);
        return { result, bytes: answer.bytes, sessionId: answer.sessionId };
      } catch (error) {
        const failure = transportFailure(error, session.endpoint);
        // Without a handshake, hanging up is the cancellation; and `initialize` must not be cancelled.
        const cancellable = session.era === "handshake" && session.protocolVersion !== "";
        if (cancellable && (signal?.aborted === true || failure.kind === "timeout")) {
          void notify(session, {
            method: "notifications/cancelled",
            params: { requestId: id, reason: "no longer awaited" },
          });
        }
        signal?.throwIfAborted();
        throw failure;
      }
    },
    notify,
    listen: async (session, { uris, hear, onStream, signal }) => {
      const id = session.nextRequestId();
      const listener = createStreamListener(session, id, {
        reply: (message) => void notify(session, message),
        relay: undefined,
        onNews: hear,
      });
      const isStateless = session.era === "stateless";
      try {
        const answer = await send(session, {
          ...(isStateless ? { body: printJson(subscription(id, uris)) } : { method: "GET" as const }),
          extra: isStateless ? mirrorHeaders(LISTEN) : [],
          isEndless: true,
          signal,
          onStream,
          onEvent: (event) => event.type === "message" && listener.hear(event.data),
        });
        if (answer.contentType === EVENT_STREAM && answer.status < 300) return;
        const response = responseAmong(messagesIn(answer.body.toString()), id);
        throw answerFailure(answer, errorOf(response), session);
      } catch (error) {
        signal.throwIfAborted();
        throw transportFailure(error, session.endpoint);
      }
    },
    close: (session, timeoutMs = COURTESY_TIMEOUT_MS) => {
      if (session.id === undefined) return;
      const { origin, path, bearer } = session.endpoint;
      // With the token that it was used with: a farewell asks for no other.
      const headers = [...session.headers, ...(bearer?.last() ?? [])];
      exchange(dispatcher, { method: "DELETE", timeoutMs, origin, path, headers }).catch((error: unknown) => {
        log.debug(about(session, error), "MCP session not closed");
      });
    },
  };
}

/**
 * 2025-11-25: a server may end a stream before its answer and let the client come back for the rest. Ends when a stream
 * cannot be continued; the listener knows whether the answer has come.
 */
async function resume(
  session: Session,
  first: Answer,
  { deadlineMs, signal }: Request,
  get: (lastEventId: string) => Promise<Answer>,
): Promise<void> {
  if (session.era === "stateless") return;
  let next = first.resume;
  for (let turn = 0; turn < MAX_RESUMES && next !== undefined; turn += 1) {
    if (performance.now() + next.afterMs > deadlineMs) return;
    await sleep(next.afterMs, undefined, signal && { signal });
    const answer: Answer = await get(next.lastEventId);
    // A refusal of the rest, even of the session, says nothing of the call: it may have been carried out.
    next = answer.resume;
  }
}

/** The request of the 2026-07-28 revision that opens a stream for what is said outside any request. */
function subscription(id: number, uris: readonly string[]): JsonObject {
  const notifications = {
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resourceSubscriptions: [...uris],
  };
  const params = { notifications, _meta: requestMeta("stateless", id, undefined) ?? {} };
  return { jsonrpc: "2.0", id, method: LISTEN, params };
}

function cutShort({ endpoint }: Session): UpstreamFailure {
  return new UpstreamFailure("broken", `The MCP server at ${endpoint.label} ended its answer before it was complete.`);
}

/** What the log says of a courtesy that failed. Not the error itself: some carry what the server sent. */
function about(session: Session, error: unknown): { host: string; reason: string } {
  return { host: session.endpoint.label, reason: transportFailure(error, session.endpoint).message };
}
