import type { Principal } from "../../../identity/principal.ts";
import { SessionNotFound, type McpSession } from "../../../runtime/sessions/session.ts";
import { ConnectionLost } from "../../http/exchange.ts";
import { inSlot } from "../../gate/serve-admitted.ts";
import type { OpenChangeStream } from "../change-stream.ts";
import { errorText, readMessage, resultText, type RpcMessage, type RpcRequest } from "../message.ts";
import { eventText, type RequestStream } from "../reply.ts";
import { CODES, methodFault, requestFault, RpcFault } from "../rpc-fault.ts";
import { introductionText, readIntroduction } from "../sessions/introduction.ts";
import { parseBody } from "../endpoint/parse-body.ts";
import type { SessionMessage } from "../sessions/session-requests.ts";
import { readPosted } from "./posted-message.ts";
import type { SseServing } from "./sse-serving.ts";

/** Maximum number of characters that wait for a client that does not read. Beyond this limit, its stream is closed. */
const MAX_WAITING = 16 * 1024 * 1024;

/** A session's stream on the replica that it was opened on. */
export interface SseStream {
  /** The principal of the newest token that the client has used. */
  bearer(): Principal;
  /** Starts to answer on the open stream. */
  attach(stream: OpenChangeStream): void;
  /** Handles a POST of any replica. Never throws. */
  receive(text: string): void;
  /** Closes the stream after the responses to the requests that are being processed. */
  stop(close: () => void): void;
  /** The stream is closed: cancels the requests whose responses nobody can receive. */
  closed(): void;
}

/** `narrow` restricts the principal of a token to the connection of the address. */
export function createSseStream(
  serving: SseServing,
  opened: { readonly bearer: Principal; readonly session: McpSession },
  narrow: (bearer: Principal) => Principal,
): SseStream {
  const { requests, sessions, log } = serving;
  const { accountId, id: sessionId } = opened.session;
  const gone = new AbortController();
  const attached = Promise.withResolvers<OpenChangeStream>();
  let { bearer } = opened;
  let running = 0;
  let waiting = 0;
  let onIdle: (() => void) | undefined;

  async function send(text: string): Promise<void> {
    const stream = await attached.promise;
    waiting += text.length;
    if (waiting > MAX_WAITING) {
      log.warn({ accountId }, "closed the event stream of a client that does not read");
      stream.close();
      return;
    }
    await stream.send(eventText(text));
    waiting -= text.length;
  }

  const requestStream: RequestStream = { canNotify: true, notify: send, beat: () => undefined };

  async function initialize(principal: Principal, session: McpSession, request: RpcRequest): Promise<string> {
    if (isInitialized(session)) throw new RpcFault(CODES.invalidRequest, "The session is already initialized.");
    const introduction = readIntroduction(request.params);
    await sessions.update(session, { introduction });
    return resultText(request.id, await introductionText(serving, principal, introduction));
  }

  /** Returns the text of the response. Undefined for a canceled request. */
  async function respond(message: SessionMessage, request: RpcRequest): Promise<string | undefined> {
    const { session, principal } = message;
    if (request.method === "initialize") return initialize(principal, session, request);
    return (await requests.settle(message, request))?.text;
  }

  /** Answers once: with the response, or with an error past the time limit of requests. */
  async function answer(
    id: string | undefined,
    isInitialize: boolean,
    work: (onSent: () => void) => Promise<string | undefined>,
  ) {
    let isAnswered = false;
    const finish = async (text: string | undefined): Promise<void> => {
      if (isAnswered) return;
      isAnswered = true;
      if (text !== undefined) await send(text);
    };
    const stopDeadline = serving.timeLimit.start(() => {
      void finish(errorText(id, new RpcFault(CODES.server, "The request took too long.")));
    });
    running += 1;
    try {
      const limiter = isInitialize ? serving.poolLimiter : serving.upstreamLimiter;
      const checkWanted = (): void => {
        if (gone.signal.aborted) throw new ConnectionLost();
      };
      const text = await inSlot(limiter, accountId, checkWanted, (release) =>
        work(() => {
          release();
          stopDeadline();
        }),
      );
      await finish(text);
    } catch (thrown) {
      if (thrown instanceof ConnectionLost) return;
      await finish(errorText(id, methodFault(thrown, log)));
      if (thrown instanceof SessionNotFound) end();
    } finally {
      stopDeadline();
      running -= 1;
      if (running === 0) onIdle?.();
    }
  }

  function end(): void {
    void attached.promise.then((stream) => stream.close());
  }

  async function handle(text: string): Promise<void> {
    const posted = readPosted(text);
    const sender = posted.bearer.tokenId === bearer.tokenId ? bearer : posted.bearer;
    const principal = narrow(sender);
    const session = await sessions.require(principal, sessionId);
    // The stream lives as long as the newest token of its client.
    if (sender.issuedAt >= bearer.issuedAt) bearer = sender;
    const body = parseBody(Buffer.from(posted.body));
    const at = { session, principal, exchange: undefined, stream: requestStream, gone: gone.signal };
    if (Array.isArray(body)) {
      return answer(undefined, false, async (onSent) => (await requests.settleBatch({ ...at, onSent }, body))?.text);
    }
    const message: RpcMessage | undefined = readMessage(body);
    if (message === undefined) return undefined;
    if (message.kind !== "request") return requests.accept(session, message);
    return answer(message.id, message.method === "initialize", (onSent) => respond({ ...at, onSent }, message));
  }

  return {
    bearer: () => bearer,
    attach: attached.resolve,
    receive: (text) => {
      handle(text).catch((thrown: unknown) => {
        if (thrown instanceof SessionNotFound) end();
        else log.error({ err: requestFault(thrown, log) }, "could not handle a message of an event stream");
      });
    },
    stop(close) {
      onIdle = close;
      if (running === 0) close();
    },
    closed: () => gone.abort(),
  };
}

/**
 * A session is opened with its stream, before `initialize`. Other requests may come first, because clients of SDK v1
 * that lost their stream open another one and do not initialize it.
 */
function isInitialized({ protocolVersion }: McpSession): boolean {
  return protocolVersion !== "";
}
