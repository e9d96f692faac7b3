import { setTimeout as sleep } from "node:timers/promises";
import type { Dispatcher } from "undici";
import type { Logger } from "pino";
import { isJsonObject, printJson, type JsonObject, type JsonValue } from "../../json.ts";
import { answerFailure } from "./answer-failure.ts";
import { exchange, type Answer, type ExchangeRequest } from "./exchange.ts";
import { errorOf, isResponse, messagesIn, responseAmong } from "./json-rpc.ts";
import type { Session } from "./session.ts";
import { transportFailure } from "./transport-failure.ts";

/** How many requests of a server are answered while one of ours is open: more would let it make us send without end. */
const MAX_SERVER_REQUESTS = 32;

/** How often a stream that ended early is resumed for one request. */
const MAX_RESUMES = 5;

/** For messages that no caller waits for, in milliseconds. */
const COURTESY_TIMEOUT_MS = 10_000;

/** One JSON-RPC request. */
export interface Request {
  readonly method: string;
  /** JSON, printed already. */
  readonly params: string;
  /** Headers beyond the session's, names and values in turn. */
  readonly headers?: readonly string[];
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

/** Speaks JSON-RPC over Streamable HTTP. */
export interface Requester {
  /**
   * Sends a request and awaits its result, as JSON or from a stream. It never sends one twice; a stream that ended early is
   * resumed. Throws UpstreamFailure, or the signal's reason after telling the upstream.
   */
  request(session: Session, request: Request): Promise<Reply>;
  /** Sends what has no result, and awaits its delivery. Never throws: the next request tells what is wrong. */
  notify(session: Session, message: JsonObject): Promise<void>;
  /** Tells the upstream that a session is over, within so many milliseconds. Never throws: it is a courtesy. */
  close(session: Session, timeoutMs?: number): void;
}

/** A requester over the guarded dispatcher. */
export function createRequester({ dispatcher, log }: { dispatcher: Dispatcher; log: Logger }): Requester {
  const send = (session: Session, what: Partial<ExchangeRequest> & { extra?: readonly string[] }): Promise<Answer> => {
    const { extra = [], ...rest } = what;
    const { origin, path } = session.endpoint;
    const headers = [...session.headers, ...extra];
    return exchange(dispatcher, { method: "POST", timeoutMs: COURTESY_TIMEOUT_MS, ...rest, origin, path, headers });
  };
  const notify = async (session: Session, message: JsonObject): Promise<void> => {
    try {
      await send(session, { body: printJson({ jsonrpc: "2.0", ...message }) });
    } catch (error) {
      log.debug({ err: error, host: session.endpoint.label }, "MCP message not delivered");
    }
  };

  return {
    request: async (session, request) => {
      const { signal, deadlineMs } = request;
      const id = session.nextRequestId();
      const awaited = createListener(session, id, (message) => void notify(session, message));
      const body = `{"jsonrpc":"2.0","id":${id},"method":"${request.method}","params":${request.params}}`;
      const limits = () => ({ timeoutMs: Math.max(1, deadlineMs - performance.now()), signal });
      const onEvent: ExchangeRequest["onEvent"] = (event) => event.type === "message" && awaited.hear(event.data);
      try {
        let answer = await send(session, {
          body,
          ...limits(),
          onEvent,
          ...(request.headers && { extra: request.headers }),
        });
        for (
          let turn = 0;
          turn < MAX_RESUMES && awaited.response() === undefined && answer.resume !== undefined;
          turn += 1
        ) {
          const { lastEventId, afterMs } = answer.resume;
          if (session.era === "stateless" || performance.now() + afterMs > deadlineMs) break;
          await sleep(afterMs, undefined, signal && { signal });
          answer = await send(session, { method: "GET", extra: ["last-event-id", lastEventId], ...limits(), onEvent });
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
    close: (session, timeoutMs = COURTESY_TIMEOUT_MS) => {
      if (session.id === undefined) return;
      send(session, { method: "DELETE", timeoutMs }).catch((error: unknown) => {
        log.debug({ err: error, host: session.endpoint.label }, "MCP session not closed");
      });
    },
  };
}

/** Hears a stream: keeps the awaited response and answers what the server asks meanwhile. `hear` is true once the response is there. */
function createListener(
  session: Session,
  id: number,
  reply: (message: JsonObject) => void,
): { hear: (text: string) => boolean; response: () => JsonObject | undefined } {
  let response: JsonObject | undefined;
  let served = 0;
  const serve = (requestId: JsonValue, method: string): void => {
    served += 1;
    if (served > MAX_SERVER_REQUESTS) return;
    if (method === "ping") reply({ id: requestId, result: {} });
    else reply({ id: requestId, error: { code: -32601, message: `${method} is not supported by this client` } });
  };
  return {
    hear: (text) => {
      for (const message of messagesIn(text)) {
        const { id: messageId, method } = message;
        if (isResponse(message, id)) response = message;
        else if (session.era === "handshake" && typeof method === "string" && messageId !== undefined)
          serve(messageId, method);
      }
      return response !== undefined;
    },
    response: () => response,
  };
}
