import type { ConnectionView } from "../../connections/connection-view.ts";
import type { JsonValue } from "../../json.ts";
import type { ActiveRequests } from "../../runtime/sessions/active-requests.ts";
import type { OpenStreams } from "../../runtime/sessions/open-streams.ts";
import type { Peer } from "../../runtime/sessions/session.ts";
import type { ParkedCalls } from "../../runtime/relay/parked-calls.ts";
import type { RelayMessages } from "../../runtime/relay/relay-messages.ts";
import type { SessionAnswers } from "../../runtime/relay/session-answers.ts";
import type { RequestStates } from "../../runtime/relay/request-state.ts";
import type { Sessions } from "../../runtime/sessions/sessions.ts";
import type { Tasks } from "../../runtime/tasks/tasks.ts";
import type { ToolChanges } from "../../runtime/tools/tool-changes.ts";
import type { ToolUse } from "../../runtime/calls/tool-use.ts";
import type { UpstreamFeatures } from "../../runtime/upstream/upstream-features.ts";
import type { Access } from "../gate/gate.ts";
import { type AdmissionDeps, inSlot, serveAdmitted } from "../gate/serve-admitted.ts";
import { ConnectionLost, type HttpExchange } from "../http/exchange.ts";
import type { Heartbeats } from "../http/heartbeats.ts";
import type { ConcurrencyLimiter } from "../gate/concurrency-limiter.ts";
import type { Log } from "../http/log.ts";
import { createFailWithDetail } from "../http/answer.ts";
import { readJsonBytes } from "../http/read-body.ts";
import { ENDPOINT, endpointPath, MCP_METADATA_PATH, SSE_ENDPOINT } from "./address.ts";
import { answerRpcFault } from "./endpoint/answer-rpc-fault.ts";
import type { PathParameters, Route, RouteHandler } from "../http/router.ts";
import { createChangeStreams } from "./change-stream.ts";
import { connectionIdIn, createEndpointAccess } from "./endpoint/endpoint-access.ts";
import { isModern, namesModern } from "./envelope.ts";
import { createLegacyHandler } from "./legacy.ts";
import { readMessage } from "./message.ts";
import { createMethods } from "./methods.ts";
import { createModernHandler } from "./modern.ts";
import { createOriginGuard } from "./origin-guard.ts";
import { MAX_BODY_BYTES, parseBody } from "./endpoint/parse-body.ts";
import { readAccept } from "./reply.ts";
import { answerResourceMetadata } from "./resource-metadata.ts";
import { CODES, requestFault, RpcFault } from "./rpc-fault.ts";
import { CARD_PATH, CATALOG_PATH, createServerCards } from "./server-card.ts";
import type { Admitted } from "./serving.ts";
import { createSessionRequests } from "./sessions/session-requests.ts";
import { createSseRoutes } from "./sse/sse-routes.ts";
import { createSkillMethods } from "./skill-methods.ts";
import { createTaskMethods } from "./task-methods.ts";

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
  readonly relays: RelayMessages;
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

/** Creates the routes of MCP: guards, admission and body are the same for both protocol handlers. */
export function createMcpRoutes(domain: McpDomain, deps: McpDeps): readonly Route[] {
  const { publicUrl, heartbeats, log } = deps;
  const access = createEndpointAccess(domain.connections, publicUrl, ENDPOINT);
  const guard = createOriginGuard(deps);
  const methods = new Map([
    ...createMethods(domain),
    ...createSkillMethods(domain.features),
    ...createTaskMethods(domain.tasks),
  ]);
  const serving = { ...domain, methods, streams: createChangeStreams(domain), heartbeats, log };
  const requests = createSessionRequests(serving);
  const legacy = createLegacyHandler(serving, requests);
  const modern = createModernHandler(serving);

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

  async function serve(exchange: HttpExchange, allowed: Access, connectionId: number | undefined): Promise<void> {
    guard(exchange);
    const { method } = exchange;
    if (method !== "POST" && (namesModern(exchange) || (method !== "GET" && method !== "DELETE"))) {
      const allow = namesModern(exchange) ? "POST" : "GET, POST, DELETE";
      throw new RpcFault(CODES.server, "Method not allowed.", { httpStatus: 405, headers: { allow } });
    }
    let body: JsonValue | undefined;
    await serveAdmitted(deps, exchange, {
      access: allowed,
      limiter: method === "POST" ? deps.upstreamLimiter : undefined,
      serve: async (bearer, stopDeadline) => {
        if (bearer === undefined) throw new Error("the gate returned no principal");
        const principal = connectionId === undefined ? bearer : await access.actorAt(connectionId, bearer);
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
        answerRpcFault(exchange, body, requestFault(thrown, log));
      },
    });
  }

  const accessToAll = access.accessTo(undefined);
  const serveConnection: RouteHandler = (exchange, { parameters }) => {
    const connectionId = connectionIdIn(parameters);
    return serve(exchange, access.accessTo(connectionId), connectionId);
  };
  const metadataOf =
    (pathOf: (parameters: PathParameters) => string): RouteHandler =>
    (exchange, { parameters }) => {
      answerResourceMetadata(exchange, publicUrl, pathOf(parameters));
    };

  const failWithDetail = createFailWithDetail(log);
  const fail: Route["fail"] = (exchange, thrown) => {
    if (thrown instanceof RpcFault) answerRpcFault(exchange, undefined, thrown);
    else failWithDetail(exchange, thrown);
  };
  const metadataRoutes = [ENDPOINT, SSE_ENDPOINT].flatMap((endpoint) => [
    { path: MCP_METADATA_PATH + endpoint, methods: metadataOf(() => endpoint) },
    {
      path: `${MCP_METADATA_PATH}${endpoint}/{id}`,
      methods: metadataOf((parameters) => endpointPath(connectionIdIn(parameters), endpoint)),
    },
  ]);
  const cards = createServerCards(publicUrl, domain.serverInfo.version);
  const one = `${endpointPath(undefined)}/{id}`;
  const routes = [
    { path: endpointPath(undefined), methods: (exchange: HttpExchange) => serve(exchange, accessToAll, undefined) },
    { path: one, methods: serveConnection },
    { path: MCP_METADATA_PATH, methods: metadataOf(() => "") },
    ...metadataRoutes,
    ...createSseRoutes({ ...serving, ...deps, requests, guard }),
  ].map((route) => ({ ...route, fail, isCrossOrigin: true }));
  const publicRoutes = [
    { path: CATALOG_PATH, methods: (exchange: HttpExchange) => cards.answerCatalog(exchange) },
    {
      path: endpointPath(undefined) + CARD_PATH,
      methods: (exchange: HttpExchange) => cards.answerCard(exchange, undefined),
    },
    {
      path: one + CARD_PATH,
      methods: ((exchange, { parameters }) =>
        cards.answerCard(exchange, connectionIdIn(parameters))) satisfies RouteHandler,
    },
  ].map((route) => ({ ...route, fail: failWithDetail }));
  return [...routes, ...publicRoutes];
}
