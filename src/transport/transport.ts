import { setMaxListeners } from "node:events";
import type { DescService } from "@bufbuild/protobuf";
import { Code, ConnectError, createServiceImplSpec, type ServiceImpl } from "@connectrpc/connect";
import { Health } from "../../gen/proto/grpc/health/v1/health_pb.ts";
import { ServerReflection } from "../../gen/proto/grpc/reflection/v1/reflection_pb.ts";
import { ServerReflection as ServerReflectionAlpha } from "../../gen/proto/grpc/reflection/v1alpha/reflection_pb.ts";
import { AccountSettingsService } from "../../gen/proto/patchbay/v1/account_settings_service_pb.ts";
import { AdminService } from "../../gen/proto/patchbay/v1/admin_service_pb.ts";
import { AuditService } from "../../gen/proto/patchbay/v1/audit_service_pb.ts";
import { ConnectionService } from "../../gen/proto/patchbay/v1/connection_service_pb.ts";
import { GrantService } from "../../gen/proto/patchbay/v1/grant_service_pb.ts";
import { HistoryService } from "../../gen/proto/patchbay/v1/history_service_pb.ts";
import { IntegrationService } from "../../gen/proto/patchbay/v1/integration_service_pb.ts";
import { OAuthClientService } from "../../gen/proto/patchbay/v1/oauth_client_service_pb.ts";
import { OrganizationService } from "../../gen/proto/patchbay/v1/organization_service_pb.ts";
import { PersonalAccessTokenService } from "../../gen/proto/patchbay/v1/personal_access_token_service_pb.ts";
import { RuntimeService } from "../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import { ToolService } from "../../gen/proto/patchbay/v1/tool_service_pb.ts";
import { WebhookService } from "../../gen/proto/patchbay/v1/webhook_service_pb.ts";
import { createTimeLimit } from "../time-limit.ts";
import { serveRpc, type ServedRpc } from "./rpc/calls.ts";
import { createRpcHandler } from "./rpc/connect/protocol-handler.ts";
import { createCors } from "./http/cors.ts";
import { createHeartbeats, HEARTBEAT_MS, type Heartbeats } from "./http/heartbeats.ts";
import { clientAddress } from "./http/peer.ts";
import { hasDoubledHeader } from "./gate/duplicate-header.ts";
import { createFailureLimit, FAILURE_LIMITS, type FailureLimits } from "./gate/failure-limit.ts";
import { createGate, type Verifier } from "./gate/gate.ts";
import { createRates, RATE_LIMITS, type RateLimits } from "./gate/rates.ts";
import { createHealthService } from "./rpc/grpc-health.ts";
import { createProbeRoutes } from "./http/probes.ts";
import { createReflectionService } from "./rpc/reflection.ts";
import type { HttpExchange, HeaderFields } from "./http/exchange.ts";
import { createAccountActivity } from "./gate/account-activity.ts";
import {
  createConcurrencyLimiter,
  type ConcurrencyLimiter,
  type ConcurrencyLimits,
} from "./gate/concurrency-limiter.ts";
import { createMcpRoutes, type McpDomain } from "./mcp/protocol-handler.ts";
import type { Log } from "./http/log.ts";
import { answerDetail, createFailWithDetail } from "./http/answer.ts";
import { readBindings } from "./rpc/rest/binding.ts";
import { createRestHandler } from "./rpc/rest/protocol-handler.ts";
import type { Route } from "./http/router.ts";
import { serveRoutes } from "./http/serve-routes.ts";
import { readRpc } from "./rpc/rpc.ts";

/** Limits on the requests of one replica (DESIGN §8, NOTES «Overload»). */
export interface TransportLimits {
  /** Calls that only read by pipelined statements and need no connection of the database pool. */
  readonly calls: ConcurrencyLimits;
  /**
   * Calls that use a connection of the database pool. As many as the pool has, so that an account uses at most half.
   */
  readonly poolCalls: ConcurrencyLimits;
  /** Calls that mostly wait for an upstream. */
  readonly upstreamCalls: ConcurrencyLimits;
  readonly failures: FailureLimits;
  readonly rates: RateLimits;
  /** Time limit of a request, in milliseconds. Streams and tool calls are exempt. */
  readonly requestTimeMs: number;
  /** How often a call that takes long gets a heartbeat, in milliseconds. */
  readonly heartbeatMs: number;
}

/** Default limits. */
const TRANSPORT_LIMITS: TransportLimits = {
  calls: { maxInFlight: 64, maxWaiting: 128, maxWaitMs: 20 },
  poolCalls: { maxInFlight: 20, maxWaiting: 200, maxWaitMs: 2_000 },
  upstreamCalls: { maxInFlight: 512, maxWaiting: 1_000, maxWaitMs: 50 },
  failures: FAILURE_LIMITS,
  rates: RATE_LIMITS,
  requestTimeMs: 40_000,
  heartbeatMs: HEARTBEAT_MS,
};

/** The limits of a replica whose database pool has `poolSize` connections. */
export function transportLimits(poolSize: number, rates: Partial<RateLimits>): Partial<TransportLimits> {
  return { poolCalls: { ...TRANSPORT_LIMITS.poolCalls, maxInFlight: poolSize }, rates: { ...RATE_LIMITS, ...rates } };
}

/** What the transport serves, and its dependencies. */
export interface TransportDeps {
  readonly implementations: {
    readonly connection: ServiceImpl<typeof ConnectionService>;
    readonly integration: ServiceImpl<typeof IntegrationService>;
    readonly history: ServiceImpl<typeof HistoryService>;
    readonly runtime: ServiceImpl<typeof RuntimeService>;
    readonly tool: ServiceImpl<typeof ToolService>;
    readonly accountSettings: ServiceImpl<typeof AccountSettingsService>;
    readonly admin: ServiceImpl<typeof AdminService>;
    readonly audit: ServiceImpl<typeof AuditService>;
    readonly grant: ServiceImpl<typeof GrantService>;
    readonly organization: ServiceImpl<typeof OrganizationService>;
    readonly oauthClient: ServiceImpl<typeof OAuthClientService>;
    readonly personalAccessToken: ServiceImpl<typeof PersonalAccessTokenService>;
    readonly webhook: ServiceImpl<typeof WebhookService>;
  };
  /** The MCP endpoint. Without it MCP is not served. */
  readonly mcp?: McpDomain;
  readonly verifier: Verifier;
  /**
   * The public address, without a trailing slash. It is the audience of management tokens, and with `/mcp` appended
   * that of runtime tokens.
   */
  readonly publicUrl: string;
  /** Origins whose pages may call the API. If empty, CORS is off. */
  readonly corsOrigins: readonly string[];
  /** Whether to trust X-Forwarded-For. */
  readonly trustProxy: boolean;
  readonly log: Log;
  /** Routes outside of RPC: the OAuth server, pages, metadata. `/livez`, `/healthz` and `/readyz` are added here. */
  readonly extraRoutes: readonly Route[];
  readonly isReady: () => boolean | Promise<boolean>;
  readonly limits?: Partial<TransportLimits>;
  /** Whether unary calls may use the fast path. Default true; tests run both. */
  readonly fastPath?: boolean;
}

/**
 * Browsers use only https for a year after one https response (RFC 6797). Subdomains are not included, because they are
 * not ours.
 */
const HTTPS_ONLY: HeaderFields = { "strict-transport-security": "max-age=31536000" };

/** The handler for a port, and how to end the streams when the server stops. */
export interface Transport {
  readonly handler: (exchange: HttpExchange) => void;
  /** Ends every stream with `unavailable`, so that stopping does not wait for them. */
  endStreams(): void;
}

/** Builds every protocol handler from the descriptors and the implementations. Throws if an RPC declares no access. */
export function createTransport(deps: TransportDeps): Transport {
  const limits: TransportLimits = { ...TRANSPORT_LIMITS, ...deps.limits };
  const shutdown = new AbortController();
  // Every open stream adds a listener.
  setMaxListeners(0, shutdown.signal);
  const { log } = deps;
  const addressOf = (exchange: HttpExchange): string => clientAddress(exchange, deps.trustProxy);
  const rates = createRates(limits.rates, addressOf);
  const handlerDeps = {
    gate: createGate({
      verifier: deps.verifier,
      failureLimit: createFailureLimit(limits.failures),
      rates,
      clientAddress: addressOf,
    }),
    timeLimit: createTimeLimit(limits.requestTimeMs),
    log,
    shutdownSignal: shutdown.signal,
    fastPath: deps.fastPath ?? true,
  };
  const activity = createAccountActivity();
  const limiters = {
    read: createConcurrencyLimiter(limits.calls, activity),
    pool: createConcurrencyLimiter(limits.poolCalls, activity),
    upstream: createConcurrencyLimiter(limits.upstreamCalls, activity),
  };
  const heartbeats = createHeartbeats(limits.heartbeatMs);
  const rpcs = serveAll(deps, limiters, heartbeats);
  const fail = createFailWithDetail(log);
  const api = { fail, isCrossOrigin: true } as const;
  const routes: readonly Route[] = [
    ...rpcs.map((rpc) => ({ path: rpc.path, methods: createRpcHandler(rpc, handlerDeps), ...api })),
    ...(deps.mcp === undefined
      ? []
      : createMcpRoutes(deps.mcp, {
          ...deps,
          ...handlerDeps,
          heartbeats,
          upstreamLimiter: limiters.upstream,
          poolLimiter: limiters.pool,
        })),
    ...rpcs
      .flatMap((rpc) => readBindings(rpc))
      .map((binding) => ({
        path: binding.template,
        methods: { [binding.httpMethod]: createRestHandler(binding, handlerDeps) },
        hasOptions: true,
        ...api,
      })),
    ...createProbeRoutes(deps.isReady),
    ...deps.extraRoutes,
  ];
  const cors = createCors(deps.corsOrigins);
  const isHttps = deps.publicUrl.startsWith("https:");
  const serve = serveRoutes(routes, (exchange, { isCrossOrigin, limit }) => {
    if (isCrossOrigin === true && cors?.apply(exchange) === true) return true;
    if (limit !== undefined) rates.countAddress(exchange, limit);
    return false;
  });

  return {
    handler: (exchange) => {
      if (isHttps) exchange.alwaysSend = HTTPS_ONLY;
      if (hasDoubledHeader(exchange)) {
        answerDetail(exchange, 400, "MALFORMED_REQUEST", "Host and Authorization must each be given once.");
      } else serve(exchange);
    },
    endStreams: () => {
      deps.mcp?.openStreams.close();
      shutdown.abort(new ConnectError("The server is stopping. Connect again.", Code.Unavailable));
    },
  };
}

/** The concurrency limiters of one replica, by what their requests wait for. */
interface Limiters {
  readonly read: ConcurrencyLimiter;
  readonly pool: ConcurrencyLimiter;
  readonly upstream: ConcurrencyLimiter;
}

/** Reads without a connection of the database pool. */
const PIPELINED_READS: ReadonlySet<string> = new Set(["ListConnections", "GetConnection", "ListConnectionTools"]);

/** Every RPC of the port: ours and those of gRPC. */
function serveAll(
  deps: TransportDeps,
  { read, pool, upstream }: Limiters,
  heartbeats: Heartbeats,
): readonly ServedRpc[] {
  const { publicUrl, implementations, isReady } = deps;
  const ours = [
    AccountSettingsService,
    AdminService,
    AuditService,
    ConnectionService,
    GrantService,
    HistoryService,
    IntegrationService,
    OAuthClientService,
    OrganizationService,
    PersonalAccessTokenService,
    RuntimeService,
    ToolService,
    WebhookService,
  ];
  const known = [...ours, Health, ServerReflection, ServerReflectionAlpha];
  const reflection = createReflectionService(known);
  const open = { audiences: [], isPublic: true } as const;
  return [
    ...serveService(ConnectionService, implementations.connection, { audiences: [publicUrl] }, (name) =>
      PIPELINED_READS.has(name) ? read : pool,
    ),
    ...serveService(IntegrationService, implementations.integration, { audiences: [publicUrl] }, (name) =>
      name.startsWith("List") || name.startsWith("Get") ? read : upstream,
    ),
    ...serveService(AccountSettingsService, implementations.accountSettings, { audiences: [publicUrl] }, () => pool),
    ...serveService(AdminService, implementations.admin, { audiences: [publicUrl] }, () => pool),
    ...serveService(AuditService, implementations.audit, { audiences: [publicUrl] }, () => pool),
    ...serveService(GrantService, implementations.grant, { audiences: [publicUrl] }, () => pool),
    ...serveService(OrganizationService, implementations.organization, { audiences: [publicUrl] }, () => pool),
    ...serveService(OAuthClientService, implementations.oauthClient, { audiences: [publicUrl] }, () => pool),
    ...serveService(
      PersonalAccessTokenService,
      implementations.personalAccessToken,
      { audiences: [publicUrl] },
      () => pool,
    ),
    ...serveService(WebhookService, implementations.webhook, { audiences: [publicUrl] }, () => pool),
    ...serveService(HistoryService, implementations.history, { audiences: [publicUrl] }, () => pool),
    // The first list of a connection's tools is fetched from its upstream.
    ...serveService(ToolService, implementations.tool, { audiences: [publicUrl] }, () => upstream),
    ...serveService(
      RuntimeService,
      implementations.runtime,
      { audiences: [publicUrl, `${publicUrl}/mcp`] },
      (name) => (name === "Initialize" ? pool : upstream),
      (name) => (name === "CallTool" ? heartbeats : undefined),
    ),
    ...serveService(Health, createHealthService(ours, isReady), open, () => undefined),
    ...serveService(ServerReflection, reflection, open, () => undefined),
    ...serveService(ServerReflectionAlpha, reflection, open, () => undefined),
  ];
}

function serveService<Service extends DescService>(
  service: Service,
  implementation: Partial<ServiceImpl<Service>>,
  access: Parameters<typeof readRpc>[1],
  limiterOf: (name: string) => ConcurrencyLimiter | undefined,
  heartbeatsOf: (name: string) => Heartbeats | undefined = () => undefined,
): readonly ServedRpc[] {
  const { methods } = createServiceImplSpec(service, implementation);
  return Object.values(methods).map((spec) => {
    const limiter = spec.kind === "unary" ? limiterOf(spec.method.name) : undefined;
    return serveRpc(readRpc(spec.method, access), spec, limiter, heartbeatsOf(spec.method.name));
  });
}
