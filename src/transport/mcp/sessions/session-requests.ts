import type { JsonValue } from "../../../json.ts";
import type { Principal } from "../../../identity/principal.ts";
import { RequestCanceled } from "../../../runtime/sessions/active-requests.ts";
import { SessionNotFound, type McpSession } from "../../../runtime/sessions/session.ts";
import type { HttpExchange } from "../../http/exchange.ts";
import { errorText, idOf, isId, readMessage, resultText, type RpcMessage, type RpcRequest } from "../message.ts";
import { methodNotFound, requiredText } from "../methods.ts";
import { createRelay } from "../relay.ts";
import type { RequestStream } from "../reply.ts";
import { CODES, methodFault, RpcFault } from "../rpc-fault.ts";
import type { Serving } from "../serving.ts";
import { createSessionClient } from "../session-client.ts";
import { withTrace } from "../trace-context.ts";
import { createWaitingRequest } from "../waiting.ts";
import { createSessionSettings } from "./session-settings.ts";

/** The only revision with batches. */
const BATCH_VERSION = "2025-03-26";
const MAX_BATCH = 100;

/** A message of a session's client, independent of how it arrived. */
export interface SessionMessage {
  readonly session: McpSession;
  readonly principal: Principal;
  /** The HTTP request with the message, on the replica that received it. */
  readonly exchange: HttpExchange | undefined;
  /** Receives the messages that precede the response. */
  readonly stream: RequestStream;
  /** Called when a request begins to wait for its upstream. */
  readonly onSent: () => void;
  /** Aborted when nobody can receive the response any more. */
  readonly gone: AbortSignal | undefined;
}

/** The response to a request or a batch. */
export interface Settled {
  readonly text: string;
  /** Set when the service itself was unavailable. */
  readonly outage: RpcFault | undefined;
}

/** Handles the messages of sessions, whatever transport they use. */
export interface SessionRequests {
  /** Answers a request. Returns undefined for a canceled one. Rejects only if the session has ended. */
  settle(message: SessionMessage, request: RpcRequest): Promise<Settled | undefined>;
  /** Handles a batch. Returns undefined if nothing is to be answered. Throws RpcFault if the batch is not allowed. */
  settleBatch(message: SessionMessage, batch: readonly JsonValue[]): Promise<Settled | undefined>;
  /** Handles a notification or a response. */
  accept(session: McpSession, message: RpcMessage): Promise<void>;
}

export function createSessionRequests(serving: Serving): SessionRequests {
  const { methods, activeRequests, log } = serving;
  const settings = createSessionSettings(serving);

  function answer(message: SessionMessage, request: RpcRequest): string | Promise<string> {
    const { session, principal } = message;
    const { method, params } = request;
    switch (method) {
      case "ping":
        return "{}";
      case "initialize":
        throw new RpcFault(CODES.invalidRequest, "The session is already initialized.");
      case "logging/setLevel":
        return settings.setLogLevel(principal, session, params.level);
      case "resources/subscribe":
      case "resources/unsubscribe":
        return settings.subscribe(message, method, requiredText(params, "uri"));
      default:
        return callMethod(message, request);
    }
  }

  async function callMethod(message: SessionMessage, request: RpcRequest): Promise<string> {
    const { session, principal, exchange, stream, gone } = message;
    const { id, method, params } = request;
    const call = methods.get(method);
    if (call === undefined) throw methodNotFound(method);
    const active = activeRequests.start(session.id, id);
    const leave = (): void => active.controller.abort(new RequestCanceled());
    gone?.addEventListener("abort", leave, { once: true });
    const waiting = createWaitingRequest(serving.heartbeats, stream, message.onSent);
    const relay = withTrace(createRelay(params, session.logLevel ?? "all", stream), exchange, params);
    const client = createSessionClient(serving.sessionAnswers, session, stream, active.controller.signal);
    try {
      const result = await call({
        principal,
        session,
        params,
        controller: active.controller,
        onSent: waiting.onSent,
        relay: client === undefined ? relay : { ...relay, client },
        inspect: undefined,
        // The code for a missing capability is unknown to these revisions; the result explains it.
        declares: () => true,
      });
      return result.text;
    } finally {
      gone?.removeEventListener("abort", leave);
      waiting.end();
      active.end();
    }
  }

  async function settle(message: SessionMessage, request: RpcRequest): Promise<Settled | undefined> {
    try {
      return { text: resultText(request.id, await answer(message, request)), outage: undefined };
    } catch (thrown) {
      if (thrown instanceof RequestCanceled) return undefined;
      if (thrown instanceof SessionNotFound) throw thrown;
      const fault = methodFault(thrown, log);
      return { text: errorText(request.id, fault), outage: fault.httpStatus === 503 ? fault : undefined };
    }
  }

  async function accept(session: McpSession, message: RpcMessage): Promise<void> {
    if (message.kind === "response") await serving.sessionAnswers.deliver(session, message.message);
    if (message.kind !== "notification" || message.method !== "notifications/cancelled") return;
    const { requestId } = message.params;
    if (isId(requestId)) activeRequests.cancel(session.id, JSON.stringify(requestId));
  }

  return {
    settle,
    accept,

    async settleBatch(message, batch) {
      const { session } = message;
      if (session.protocolVersion !== BATCH_VERSION) throw badMessage("This revision does not support batches.");
      if (batch.length === 0 || batch.length > MAX_BATCH) {
        throw badMessage(`A batch must contain 1 to ${MAX_BATCH} messages.`);
      }
      const answers = await Promise.all(
        batch.map(async (value) => {
          const one = readMessage(value);
          if (one === undefined) return { text: errorText(idOf(value), notAMessage()), outage: undefined };
          if (one.kind === "request") return settle(message, one);
          await accept(session, one);
          return undefined;
        }),
      );
      const settled = answers.filter((each) => each !== undefined);
      if (settled.length === 0) return undefined;
      // A client that retries the batch must not repeat the requests that succeeded.
      const outage = settled.every((each) => each.outage !== undefined) ? settled[0]?.outage : undefined;
      return { text: `[${settled.map(({ text }) => text).join(",")}]`, outage };
    },
  };
}

/** Whether a batch contains a request, so that its response is not empty. */
export function hasRequest(batch: readonly JsonValue[]): boolean {
  return batch.some((value) => readMessage(value)?.kind === "request");
}

export function notAMessage(): RpcFault {
  return badMessage("The body is not a JSON-RPC 2.0 message of MCP.");
}

export function badMessage(message: string): RpcFault {
  return new RpcFault(CODES.invalidRequest, message, { httpStatus: 400 });
}
