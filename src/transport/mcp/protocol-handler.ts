import { isUtf8 } from "node:buffer";
import { type Principal, reaches } from "../../identity/principal.ts";
import { connectionNotFound, parseServerId } from "../../identity/server-id.ts";
import type { ConnectionView } from "../../connections/connection-view.ts";
import type { DomainError } from "../../domain-error.ts";
import { type JsonValue, parseJson } from "../../json.ts";
import type { ActiveRequests } from "../../runtime/sessions/active-requests.ts";
import type { OpenStreams } from "../../runtime/sessions/open-streams.ts";
import type { Peer } from "../../runtime/sessions/session.ts";
import type { ParkedCalls } from "../../runtime/relay/parked-calls.ts";
import type { SessionAnswers } from "../../runtime/relay/session-answers.ts";
import type { RequestStates } from "../../runtime/relay/request-state.ts";
import type { Sessions } from "../../runtime/sessions/sessions.ts";
import type { Tasks } from "../../runtime/tasks/tasks.ts";
import type { ToolChanges } from "../../runtime/tools/tool-changes.ts";
import type { ToolUse } from "../../runtime/calls/tool-use.ts";
import type { UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { Access } from "../gate/gate.ts";
import { type AdmissionDeps, inSlot, serveAdmitted } from "../gate/serve-admitted.ts";
import { ConnectionLost, type HttpExchange, type HeaderFields } from "../http/exchange.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { ConcurrencyLimiter } from "../gate/concurrency-limiter.ts";
import type { Log } from "../http/log.ts";
import { createFailWithDetail, JSON_HEADERS } from "../http/answer.ts";
import { MAX_JSON_DEPTH, MAX_JSON_VALUES, readJsonBytes } from "../http/read-body.ts";
import { endpointPath, MCP_METADATA_PATH, metadataUrl } from "./address.ts";
import { routeNotFound } from "../http/fault.ts";
import type { PathParameters, Route, RouteHandler } from "../http/router.ts";
import { createChangeStreams } from "./change-stream.ts";
import { isModern, namesModern } from "./envelope.ts";
import { createLegacyHandler } from "./legacy.ts";
import { errorText, idOf, readMessage } from "./message.ts";
import { createMethods } from "./methods.ts";
import { createModernHandler } from "./modern.ts";
import { createOriginGuard } from "./origin-guard.ts";
import { readAccept } from "./reply.ts";
import { answerResourceMetadata, MCP_SCOPES } from "./resource-metadata.ts";
import { CODES, requestFault, RpcFault } from "./rpc-fault.ts";
import { CARD_PATH, CATALOG_PATH, createServerCards } from "./server-card.ts";
import type { Admitted } from "./serving.ts";
import { createTaskMethods } from "./task-methods.ts";

/** The largest body of a POST, in bytes (DESIGN §8). */
const MAX_BODY_BYTES = 4 * 1024 * 1024;

export interface McpDomain {
  readonly connections: Pick<ConnectionView, "find">;
  readonly sessions: Sessions;
  readonly tools: ToolUse;
  readonly activeRequests: ActiveRequests;
  readonly openStreams: OpenStreams;
  readonly toolChanges: ToolChanges;
  readonly features: UpstreamFeatures;
  readonly tasks: Tasks;
  readonly requestStates: RequestStates;
  readonly parkedCalls: ParkedCalls;
  readonly sessionAnswers: SessionAnswers;
  readonly serverInfo: Peer;
}

export interface McpDeps extends AdmissionDeps {
  readonly publicUrl: string;
  readonly corsOrigins: readonly string[];
  readonly trustProxy: boolean;
  /** Limits requests that wait for upstreams. */
  readonly upstreamLimiter: ConcurrencyLimiter;
  /** Limits requests that open sessions, which take a connection of the database pool. */
  readonly poolLimiter: ConcurrencyLimiter;
  readonly heartbeats: Heartbeats;
  readonly log: Log;
}

/** One of these scopes is required; each tool then checks its own. */
const REQUIRED_SCOPES = ["mcp.read", "mcp.write", "mgmt.read", "mgmt.write", "mgmt.admin"];

/** Creates the routes of MCP: guards, admission and body are the same for both protocol handlers. */
export function createMcpRoutes(domain: McpDomain, deps: McpDeps): readonly Route[] {
  const { publicUrl, heartbeats, log } = deps;
  const guard = createOriginGuard(deps);
  const methods = new Map([...createMethods(domain), ...createTaskMethods(domain.tasks)]);
  const serving = { ...domain, methods, streams: createChangeStreams(domain), heartbeats, log };
  const legacy = createLegacyHandler(serving);
  const modern = createModernHandler(serving);
  const narrowed = new WeakMap<Principal, Map<number, Principal>>();

  function accessTo(connectionId: number | undefined): Access {
    const audiences = [publicUrl, publicUrl + endpointPath(undefined)];
    if (connectionId !== undefined) audiences.push(publicUrl + endpointPath(connectionId));
    return {
      isPublic: false,
      requiredScopes: REQUIRED_SCOPES,
      audiences,
      texts: { forbidden: "You do not have permission to use MCP servers." },
      resourceMetadataUrl: metadataUrl(publicUrl, connectionId),
      challengedScopes: MCP_SCOPES,
    };
  }

  /** Restricts a principal to one connection. Returns the same object for the same principal. */
  function narrow(principal: Principal, connectionId: number): Principal {
    if (principal.connectionId === connectionId) return principal;
    const known = narrowed.get(principal) ?? new Map<number, Principal>();
    narrowed.set(principal, known);
    const narrow = known.get(connectionId) ?? { ...principal, connectionId };
    known.set(connectionId, narrow);
    return narrow;
  }

  /** Throws `not_found` for a connection that is deleted, foreign or outside the token's access. */
  async function actorAt(connectionId: number | undefined, principal: Principal): Promise<Principal> {
    if (connectionId === undefined) return principal;
    const isReachable = reaches(principal, connectionId);
    if (!isReachable || (await domain.connections.find(principal.accountId, connectionId)) === undefined) {
      throw notFound(connectionId);
    }
    return narrow(principal, connectionId);
  }

  async function post(admitted: Admitted, body: JsonValue): Promise<void> {
    const message = Array.isArray(body) ? undefined : readMessage(body);
    const isStateless = message !== undefined && message.kind !== "response" && isModern(admitted.exchange, message);
    const limiter =
      message?.kind === "request" && message.method === "initialize" ? deps.poolLimiter : deps.upstreamLimiter;
    const checkWanted = (): void => {
      if (!admitted.exchange.isOpen) throw new ConnectionLost();
    };
    await inSlot(limiter, admitted.principal.accountId, checkWanted, (release) => {
      const onSent = (): void => {
        release();
        admitted.onSent();
      };
      const inside = { ...admitted, onSent };
      return isStateless ? modern.post(inside, message) : legacy.post(inside, body);
    });
  }

  async function serve(exchange: HttpExchange, access: Access, connectionId: number | undefined): Promise<void> {
    guard(exchange);
    const { method } = exchange;
    if (method !== "POST" && (namesModern(exchange) || (method !== "GET" && method !== "DELETE"))) {
      const allow = namesModern(exchange) ? "POST" : "GET, POST, DELETE";
      throw new RpcFault(CODES.server, "Method not allowed.", { httpStatus: 405, headers: { allow } });
    }
    let body: JsonValue | undefined;
    await serveAdmitted(deps, exchange, {
      access,
      limiter: method === "POST" ? deps.upstreamLimiter : undefined,
      serve: async (bearer, stopDeadline) => {
        if (bearer === undefined) throw new Error("the gate returned no principal");
        const principal = connectionId === undefined ? bearer : await actorAt(connectionId, bearer);
        const accepted = readAccept(exchange.headers.accept);
        const admitted = { exchange, bearer, principal, accepted, onSent: stopDeadline };
        if (method === "GET") {
          stopDeadline();
          await legacy.get(admitted);
        } else if (method === "DELETE") {
          await legacy.delete(admitted);
        } else {
          if (!accepted.json && !accepted.events) {
            throw new RpcFault(CODES.server, "Accept must be application/json, text/event-stream.", {
              httpStatus: 406,
            });
          }
          body = parseBody(await readJsonBytes(exchange, MAX_BODY_BYTES));
          await post(admitted, body);
        }
      },
      fail: (thrown) => {
        answerFault(exchange, body, requestFault(thrown, log));
      },
    });
  }

  const accessToAll = accessTo(undefined);
  const serveConnection: RouteHandler = (exchange, { parameters }) => {
    const connectionId = idIn(parameters);
    return serve(exchange, accessTo(connectionId), connectionId);
  };
  const metadataOf =
    (pathOf: (parameters: PathParameters) => string): RouteHandler =>
    (exchange, { parameters }) => {
      answerResourceMetadata(exchange, publicUrl, pathOf(parameters));
    };

  const failWithDetail = createFailWithDetail(log);
  const fail: Route["fail"] = (exchange, thrown) => {
    if (thrown instanceof RpcFault) answerFault(exchange, undefined, thrown);
    else failWithDetail(exchange, thrown);
  };
  const cards = createServerCards(publicUrl, domain.serverInfo.version);
  const one = `${endpointPath(undefined)}/{id}`;
  const routes = [
    { path: endpointPath(undefined), methods: (exchange: HttpExchange) => serve(exchange, accessToAll, undefined) },
    { path: one, methods: serveConnection },
    { path: MCP_METADATA_PATH, methods: metadataOf(() => "") },
    { path: MCP_METADATA_PATH + endpointPath(undefined), methods: metadataOf(() => endpointPath(undefined)) },
    { path: MCP_METADATA_PATH + one, methods: metadataOf((parameters) => endpointPath(idIn(parameters))) },
  ].map((route) => ({ ...route, fail, isCrossOrigin: true }));
  const publicRoutes = [
    { path: CATALOG_PATH, methods: (exchange: HttpExchange) => cards.answerCatalog(exchange) },
    {
      path: endpointPath(undefined) + CARD_PATH,
      methods: (exchange: HttpExchange) => cards.answerCard(exchange, undefined),
    },
    {
      path: one + CARD_PATH,
      methods: ((exchange, { parameters }) => cards.answerCard(exchange, idIn(parameters))) satisfies RouteHandler,
    },
  ].map((route) => ({ ...route, fail: failWithDetail }));
  return [...routes, ...publicRoutes];
}

/** Throws a 404 for a malformed connection id. */
function idIn({ id = "" }: PathParameters): number {
  const connectionId = parseServerId(id);
  if (connectionId === undefined) throw routeNotFound();
  return connectionId;
}

function parseBody(bytes: Buffer): JsonValue {
  if (bytes.byteLength === 0 || !isUtf8(bytes)) {
    throw new RpcFault(CODES.parse, "The request body must be JSON.", { httpStatus: 400 });
  }
  try {
    return parseJson(bytes.toString("utf8"), { maxDepth: MAX_JSON_DEPTH, maxValues: MAX_JSON_VALUES });
  } catch (cause) {
    if (!(cause instanceof SyntaxError)) throw cause;
    const sentence = cause.cause === undefined ? cause.message : "The request body is not valid JSON.";
    throw new RpcFault(CODES.parse, sentence, { httpStatus: 400 });
  }
}

function answerFault(exchange: HttpExchange, body: JsonValue | undefined, fault: RpcFault): void {
  if (exchange.hasAnswered) {
    exchange.destroy();
    return;
  }
  const headers: HeaderFields = { ...JSON_HEADERS, ...fault.headers };
  exchange.respond(fault.httpStatus, headers, errorText(body === undefined ? undefined : idOf(body), fault));
}

function notFound(connectionId: number): DomainError {
  return connectionNotFound(String(connectionId));
}
