import type { Principal } from "../../../identity/principal.ts";
import { type McpSession, SessionNotFound } from "../../../runtime/sessions/session.ts";
import { inSlot } from "../../gate/serve-admitted.ts";
import { ConnectionLost, type HttpExchange } from "../../http/exchange.ts";
import { readJsonBytes } from "../../http/read-body.ts";
import { endpointPath, SSE_ENDPOINT } from "../address.ts";
import { checkVersionHeader, sessionFilter } from "../legacy.ts";
import { readMessage } from "../message.ts";
import { MAX_BODY_BYTES, parseBody } from "../endpoint/parse-body.ts";
import { CODES, RpcFault } from "../rpc-fault.ts";
import type { Admitted } from "../serving.ts";
import { notAMessage } from "../sessions/session-requests.ts";
import { printPosted, streamAddress } from "./posted-message.ts";
import type { SseServing } from "./sse-serving.ts";
import { createSseStream } from "./sse-stream.ts";

/** Handles HTTP+SSE, the transport of 2024-11-05, with the sessions of the later revisions. */
export interface SseHandler {
  /** Opens the stream of a new session and announces its POST address. */
  get(admitted: Admitted, connectionId: number | undefined): Promise<void>;
  /** Passes a message to the replica of the stream. */
  post(admitted: Admitted, query: string): Promise<void>;
}

export function createSseHandler(serving: SseServing): SseHandler {
  const { sessions, relays, streams, log } = serving;

  /** The client says in `initialize` which revision it speaks, and which requests it can answer. */
  function open({ exchange, principal }: Admitted): Promise<McpSession> {
    return inSlot(serving.poolLimiter, principal.accountId, checkOpen(exchange), () =>
      sessions.open(principal, "", { name: "", version: "" }),
    );
  }

  /** A session lasts as long as its stream. */
  function endSession(principal: Principal, { id }: McpSession): void {
    sessions.end(principal, id).catch((error: unknown) => {
      if (!(error instanceof SessionNotFound)) log.warn({ err: error }, "could not end the session of a closed stream");
    });
  }

  return {
    async get(admitted, connectionId) {
      const { exchange, bearer, principal, accepted } = admitted;
      if (!accepted.events) throw new RpcFault(CODES.server, "Accept must be text/event-stream.", { httpStatus: 406 });
      const session = await open(admitted);
      const stream = createSseStream(serving, { bearer, session }, (own) => serving.access.narrow(own, connectionId));
      const address = streamAddress(session.id);
      const stopReceiving = relays.receive(principal.accountId, address, (text) => stream.receive(text));
      const postAddress = `${endpointPath(connectionId, SSE_ENDPOINT)}?sessionId=${session.id}`;
      const opened = await streams.open({
        exchange,
        bearer: () => stream.bearer(),
        principal,
        session,
        wantsTools: true,
        filter: (now) => sessionFilter(now ?? session),
        follow: undefined,
        lastEventId: undefined,
        opening: () => `event: endpoint\ndata: ${postAddress}\n\n`,
        mark: undefined,
        closing: undefined,
        isNewest: () => true,
        onStopping: (close) => stream.stop(close),
        onClosed: () => {
          stopReceiving();
          stream.closed();
          endSession(principal, session);
        },
      });
      if (opened !== undefined) stream.attach(opened);
    },

    async post(admitted, query) {
      const { exchange, bearer, principal } = admitted;
      const sessionId = new URLSearchParams(query).get("sessionId") ?? "";
      if (sessionId === "") throw noStream();
      checkVersionHeader(exchange);
      const session = await sessions.require(principal, sessionId);
      const body = await readJsonBytes(exchange, MAX_BODY_BYTES);
      const parsed = parseBody(body);
      if (!Array.isArray(parsed) && readMessage(parsed) === undefined) throw notAMessage();
      const posted = printPosted({ bearer, body: body.toString() });
      const isTaken = await inSlot(serving.upstreamLimiter, principal.accountId, checkOpen(exchange), () =>
        relays.send(principal.accountId, streamAddress(session.id), posted),
      );
      if (!isTaken) throw streamClosed();
      exchange.respond(202, {}, "");
    },
  };
}

function checkOpen(exchange: HttpExchange): () => void {
  return () => {
    if (!exchange.isOpen) throw new ConnectionLost();
  };
}

/** Clients that try Streamable HTTP first use the stream after this status. */
function noStream(): RpcFault {
  const message =
    "This address speaks HTTP+SSE: open a stream with GET and send messages to the address that it announces. " +
    "Streamable HTTP is at /mcp.";
  return new RpcFault(CODES.server, message, { httpStatus: 405, headers: { allow: "GET" } });
}

function streamClosed(): RpcFault {
  const message = "The event stream of this session is closed. Open it again with GET.";
  return new RpcFault(CODES.sessionNotFound, message, { httpStatus: 404 });
}
