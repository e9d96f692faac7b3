import type { JsonValue } from "../../json.ts";
import { SESSION_PROTOCOL_VERSIONS, type McpSession } from "../../runtime/sessions/session.ts";
import type { NotificationFilter } from "../../runtime/upstream/upstream-features.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { readMessage, resultText, type RpcRequest } from "./message.ts";
import { Reply } from "./reply.ts";
import { CODES, RpcFault } from "./rpc-fault.ts";
import type { Admitted, Serving } from "./serving.ts";
import { introductionText, readIntroduction } from "./sessions/introduction.ts";
import { badMessage, hasRequest, notAMessage, type SessionRequests } from "./sessions/session-requests.ts";
import { sessionIdentity } from "./session-client.ts";
import { singleHeader } from "./single-header.ts";

/** Handles the revisions with sessions over Streamable HTTP, up to 2025-11-25. */
export interface LegacyHandler {
  /** Handles one message, or a batch in 2025-03-26. Rejects only before any message is processed. */
  post(admitted: Admitted, body: JsonValue): Promise<void>;
  /** Opens the stream of the session's change notifications. */
  get(admitted: Admitted): Promise<void>;
  /** Ends the session and cancels its requests on every replica. */
  delete(admitted: Admitted): Promise<void>;
}

export function createLegacyHandler(serving: Serving, requests: SessionRequests): LegacyHandler {
  const { sessions, activeRequests } = serving;
  /** The streams of each session on this replica; only the newest one receives notifications. */
  const streamsOf = new Map<string, object[]>();

  async function initialize({ exchange, principal }: Admitted, request: RpcRequest, reply: Reply): Promise<void> {
    const { protocolVersion, clientInfo, clientCapabilities } = readIntroduction(request.params);
    const session = await sessions.open(principal, protocolVersion, clientInfo, clientCapabilities);
    const result = await introductionText(serving, principal, session);
    if (exchange.isOpen) reply.finish(resultText(request.id, result), 200, { "mcp-session-id": session.id });
  }

  async function requireSession({ exchange, principal }: Admitted): Promise<McpSession> {
    checkVersionHeader(exchange);
    const id = singleHeader(exchange, "mcp-session-id");
    if (id === undefined) throw badMessage("Mcp-Session-Id is required. Open a session with initialize.");
    return sessions.require(principal, id);
  }

  async function postBatch(admitted: Admitted, batch: readonly JsonValue[]): Promise<void> {
    const session = await requireSession(admitted);
    const reply = new Reply(admitted.exchange, admitted.accepted);
    const settled = await requests.settleBatch({ ...admitted, session, stream: reply, gone: undefined }, batch);
    if (settled !== undefined) reply.finish(settled.text, settled.outage?.httpStatus, settled.outage?.headers);
    else if (hasRequest(batch)) reply.abandon();
    else admitted.exchange.respond(202, {}, "");
  }

  return {
    async post(admitted, body) {
      if (Array.isArray(body)) return postBatch(admitted, body);
      const message = readMessage(body);
      if (message === undefined) throw notAMessage();
      const { exchange, accepted } = admitted;
      if (message.kind !== "request") {
        await requests.accept(await requireSession(admitted), message);
        exchange.respond(202, {}, "");
        return;
      }
      const reply = new Reply(exchange, accepted);
      if (message.method === "initialize") return initialize(admitted, message, reply);
      const session = await requireSession(admitted);
      const settled = await requests.settle({ ...admitted, session, stream: reply, gone: undefined }, message);
      if (settled === undefined) reply.abandon();
      else reply.finish(settled.text, settled.outage?.httpStatus, settled.outage?.headers);
    },

    async get(admitted) {
      const { exchange, bearer, principal, accepted } = admitted;
      if (!accepted.events) throw new RpcFault(CODES.server, "Accept must be text/event-stream.", { httpStatus: 406 });
      const session = await requireSession(admitted);
      const stream = {};
      const streams = streamsOf.get(session.id) ?? [];
      streams.push(stream);
      streamsOf.set(session.id, streams);
      await serving.streams.open({
        exchange,
        bearer: () => bearer,
        principal,
        session,
        wantsTools: true,
        filter: (now) => sessionFilter(now ?? session),
        follow: undefined,
        lastEventId: singleHeader(exchange, "last-event-id"),
        opening: (eventId) => openingOf(session, eventId),
        mark: undefined,
        closing: undefined,
        isNewest: () => streams.at(-1) === stream,
        onClosed: () => {
          streams.splice(streams.indexOf(stream), 1);
          if (streams.length === 0) streamsOf.delete(session.id);
        },
      });
    },

    async delete(admitted) {
      const { id } = await requireSession(admitted);
      await sessions.end(admitted.principal, id);
      activeRequests.cancelSession(id);
      admitted.exchange.respond(204, {}, "");
    },
  };
}

/** Throws RpcFault for a revision without sessions, or an unknown one. */
export function checkVersionHeader(exchange: HttpExchange): void {
  const version = singleHeader(exchange, "mcp-protocol-version");
  if (version === undefined || SESSION_PROTOCOL_VERSIONS.some((known) => known === version)) return;
  const known = SESSION_PROTOCOL_VERSIONS.join(", ");
  throw badMessage(`MCP-Protocol-Version is not supported. Supported with sessions: ${known}.`);
}

/** From 2025-11-25 on, a stream begins with an empty event so that the client can resume from its id. */
function openingOf({ protocolVersion }: McpSession, eventId: string): string {
  return protocolVersion >= "2025-11-25" ? `id: ${eventId}\ndata: \n\n` : ": open\n\n";
}

export function sessionFilter(session: McpSession): NotificationFilter {
  const { resourceUris } = session;
  return { resourcesListChanged: true, promptsListChanged: true, resourceUris, client: sessionIdentity(session) };
}
