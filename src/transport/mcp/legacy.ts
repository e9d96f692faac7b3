import type { JsonObject, JsonValue } from "../../json.ts";
import { isJsonObject } from "../../json.ts";
import { relayedCapabilities } from "../../integrations/relayed-client.ts";
import { withoutTasks } from "../../integrations/tasks.ts";
import { RequestCanceled } from "../../runtime/sessions/active-requests.ts";
import {
  negotiateProtocolVersion,
  parseClientInfo,
  SESSION_PROTOCOL_VERSIONS,
  SessionNotFound,
  type McpSession,
} from "../../runtime/sessions/session.ts";
import { errorText, idOf, isId, readMessage, resultText, type RpcMessage, type RpcRequest } from "./message.ts";
import { invalidParams, methodNotFound, requiredText } from "./methods.ts";
import { createSessionClient } from "./session-client.ts";
import { createRelay, readLogLevel } from "./relay.ts";
import { Reply } from "./reply.ts";
import { CODES, methodFault, RpcFault } from "./rpc-fault.ts";
import type { Admitted, Serving } from "./serving.ts";
import { createWaitingRequest } from "./waiting.ts";
import { singleHeader } from "./single-header.ts";
import { withTrace } from "./trace-context.ts";

/** The only revision with batches. */
const BATCH_VERSION = "2025-03-26";
const MAX_BATCH = 100;
/** Limits for the subscribed URIs of a session. */
const MAX_URI_LENGTH = 2_048;
const MAX_URIS = 1_000;
/** In characters of JSON. */
const MAX_CAPABILITIES_LENGTH = 16_384;

/** Handles the revisions with sessions, up to 2025-11-25. */
export interface LegacyHandler {
  /** Handles one message, or a batch in 2025-03-26. Rejects only before any message is processed. */
  post(admitted: Admitted, body: JsonValue): Promise<void>;
  /** Opens the stream of the session's change notifications. */
  get(admitted: Admitted): Promise<void>;
  /** Ends the session and cancels its requests on every replica. */
  delete(admitted: Admitted): Promise<void>;
}

interface Settled {
  readonly text: string;
  /** Set when the service itself was unavailable. */
  readonly outage: RpcFault | undefined;
}

export function createLegacyHandler(serving: Serving): LegacyHandler {
  const { methods, sessions, activeRequests, features, log } = serving;
  /** The streams of each session on this replica; only the newest one receives notifications. */
  const streamsOf = new Map<string, object[]>();

  async function initialize({ exchange, principal }: Admitted, request: RpcRequest, reply: Reply): Promise<void> {
    const { clientInfo } = request.params;
    const peer = isJsonObject(clientInfo) ? clientInfo : {};
    const protocolVersion = negotiateProtocolVersion(requiredText(request.params, "protocolVersion"));
    const info = parseClientInfo({ name: textOr(peer.name), version: textOr(peer.version) });
    const { capabilities: declared } = request.params;
    const clientCapabilities = withoutTasks(relayedCapabilities(isJsonObject(declared) ? declared : {}));
    if (JSON.stringify(clientCapabilities).length > MAX_CAPABILITIES_LENGTH)
      throw invalidParams(`capabilities must have at most ${MAX_CAPABILITIES_LENGTH} characters.`);
    const session = await sessions.open(principal, protocolVersion, info, clientCapabilities);
    const introduction = await features.introduce(principal);
    const { extensions = {}, ...others } = introduction.capabilities;
    const capabilities = { tools: { listChanged: true }, ...others, ...withoutTasks({ extensions }) };
    const { serverInfo = serving.serverInfo, instructions } = introduction;
    const result = { protocolVersion, capabilities, serverInfo, ...(instructions !== undefined && { instructions }) };
    if (exchange.isOpen) {
      reply.finish(resultText(request.id, JSON.stringify(result)), 200, { "mcp-session-id": session.id });
    }
  }

  async function requireSession({ exchange, principal }: Admitted): Promise<McpSession> {
    const version = singleHeader(exchange, "mcp-protocol-version");
    if (version !== undefined && !SESSION_PROTOCOL_VERSIONS.some((known) => known === version)) {
      const known = SESSION_PROTOCOL_VERSIONS.join(", ");
      throw badRequest(`MCP-Protocol-Version is not supported. Supported with sessions: ${known}.`);
    }
    const id = singleHeader(exchange, "mcp-session-id");
    if (id === undefined) throw badRequest("Mcp-Session-Id is required. Open a session with initialize.");
    return sessions.require(principal, id);
  }

  function answer(
    admitted: Admitted,
    session: McpSession,
    request: RpcRequest,
    reply: Reply,
  ): string | Promise<string> {
    const { method, params } = request;
    switch (method) {
      case "ping":
        return "{}";
      case "initialize":
        throw new RpcFault(CODES.invalidRequest, "The session is already initialized.");
      case "logging/setLevel":
        return setLogLevel(admitted, session, params.level);
      case "resources/subscribe":
      case "resources/unsubscribe":
        return subscribe(admitted, session, method, requiredText(params, "uri"));
      default:
        return callMethod(admitted, session, request, reply);
    }
  }

  async function setLogLevel(
    { principal }: Admitted,
    session: McpSession,
    level: JsonValue | undefined,
  ): Promise<string> {
    if ((await features.capabilities(principal)).logging === undefined) throw methodNotFound("logging/setLevel");
    const logLevel = readLogLevel(level);
    if (logLevel === undefined) throw invalidParams("level must be a log level of MCP, such as info.");
    await sessions.update(session, { logLevel });
    return "{}";
  }

  async function subscribe(admitted: Admitted, session: McpSession, method: string, uri: string): Promise<string> {
    const { principal } = admitted;
    if ((await features.capabilities(principal)).resources?.subscribe !== true) throw methodNotFound(method);
    if (uri.length > MAX_URI_LENGTH || uri.includes("\0") || !uri.isWellFormed())
      throw invalidParams("uri is not a valid URI.");
    if (method === "resources/unsubscribe") {
      await sessions.update(session, { unsubscribe: uri });
      return "{}";
    }
    if (session.resourceUris.size >= MAX_URIS) throw invalidParams(`A session subscribes to at most ${MAX_URIS} URIs.`);
    await features.checkSubscription(principal, uri, { signal: AbortSignal.timeout(30_000) });
    await sessions.update(session, { subscribe: uri });
    return "{}";
  }

  async function callMethod(
    admitted: Admitted,
    session: McpSession,
    request: RpcRequest,
    reply: Reply,
  ): Promise<string> {
    const { id, method, params } = request;
    const call = methods.get(method);
    if (call === undefined) throw methodNotFound(method);
    const flying = activeRequests.start(session.id, id);
    const waiting = createWaitingRequest(serving.heartbeats, reply, admitted.onSent);
    const relay = withTrace(createRelay(params, session.logLevel ?? "all", reply), admitted.exchange, params);
    const client = createSessionClient(serving.sessionAnswers, session, reply, flying.controller.signal);
    try {
      const result = await call({
        principal: admitted.principal,
        session,
        params,
        controller: flying.controller,
        onSent: waiting.onSent,
        relay: client === undefined ? relay : { ...relay, client },
        inspect: undefined,
        // The code for a missing capability is unknown to these revisions; the result explains it.
        declares: () => true,
      });
      return result.text;
    } finally {
      waiting.end();
      flying.end();
    }
  }

  /** Returns undefined for a canceled request. */
  async function settle(
    admitted: Admitted,
    session: McpSession,
    request: RpcRequest,
    reply: Reply,
  ): Promise<Settled | undefined> {
    try {
      return { text: resultText(request.id, await answer(admitted, session, request, reply)), outage: undefined };
    } catch (thrown) {
      if (thrown instanceof RequestCanceled) return undefined;
      if (thrown instanceof SessionNotFound) throw thrown;
      const fault = methodFault(thrown, log);
      return { text: errorText(request.id, fault), outage: fault.httpStatus === 503 ? fault : undefined };
    }
  }

  async function take(session: McpSession, message: RpcMessage): Promise<void> {
    if (message.kind === "response") await serving.sessionAnswers.deliver(session, message.message);
    if (message.kind !== "notification" || message.method !== "notifications/cancelled") return;
    const { requestId } = message.params;
    if (isId(requestId)) activeRequests.cancel(session.id, JSON.stringify(requestId));
  }

  async function postBatch(admitted: Admitted, session: McpSession, batch: readonly JsonValue[]): Promise<void> {
    if (session.protocolVersion !== BATCH_VERSION) throw badRequest("This revision does not support batches.");
    if (batch.length === 0 || batch.length > MAX_BATCH) {
      throw badRequest(`A batch must contain 1 to ${MAX_BATCH} messages.`);
    }
    const reply = new Reply(admitted.exchange, admitted.accepted);
    const answers = await Promise.all(
      batch.map(async (value) => {
        const message = readMessage(value);
        if (message === undefined) return { text: errorText(idOf(value), notAMessage()), outage: undefined };
        if (message.kind === "request") return settle(admitted, session, message, reply);
        await take(session, message);
        return undefined;
      }),
    );
    const settled = answers.filter((each) => each !== undefined);
    const texts = settled.map(({ text }) => text);
    // A client that retries the batch must not repeat the requests that succeeded.
    const outage = settled.every((each) => each.outage !== undefined) ? settled[0]?.outage : undefined;
    if (texts.length > 0) reply.finish(`[${texts.join(",")}]`, outage?.httpStatus, outage?.headers);
    else if (batch.some((value) => readMessage(value)?.kind === "request")) reply.abandon();
    else admitted.exchange.respond(202, {}, "");
  }

  return {
    async post(admitted, body) {
      if (Array.isArray(body)) return postBatch(admitted, await requireSession(admitted), body);
      const message = readMessage(body);
      if (message === undefined) throw notAMessage();
      const { exchange, accepted } = admitted;
      if (message.kind !== "request") {
        await take(await requireSession(admitted), message);
        exchange.respond(202, {}, "");
        return;
      }
      const reply = new Reply(exchange, accepted);
      if (message.method === "initialize") return initialize(admitted, message, reply);
      const session = await requireSession(admitted);
      const settled = await settle(admitted, session, message, reply);
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
        bearer,
        principal,
        session,
        wantsTools: true,
        filter: (now) => ({ resourcesListChanged: true, promptsListChanged: true, resourceUris: urisOf(now) }),
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

/** From 2025-11-25 on, a stream begins with an empty event so that the client can resume from its id. */
function openingOf({ protocolVersion }: McpSession, eventId: string): string {
  return protocolVersion >= "2025-11-25" ? `id: ${eventId}\ndata: \n\n` : ": open\n\n";
}

const NO_URIS: ReadonlySet<string> = new Set();

function urisOf(session: McpSession | undefined): ReadonlySet<string> {
  return session?.resourceUris ?? NO_URIS;
}

function textOr(value: JsonObject[string] | undefined): string {
  return typeof value === "string" ? value : "";
}

function notAMessage(): RpcFault {
  return badRequest("The body is not a JSON-RPC 2.0 message of MCP.");
}

function badRequest(message: string): RpcFault {
  return new RpcFault(CODES.invalidRequest, message, { httpStatus: 400 });
}
