import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { createPort, type Port, type PortLimits } from "../../../src/transport/http/port.ts";
import { createTransport, type TransportDeps } from "../../../src/transport/transport.ts";
import { DomainError, invalid } from "../../../src/domain-error.ts";
import type { Principal } from "../../../src/identity/principal.ts";
import { isScope } from "../../../src/identity/scopes.ts";
import type { Log } from "../../../src/transport/http/log.ts";
import { principalOf } from "../../../src/transport/rpc/principal.ts";

const CONNECTION = {
  id: 7,
  mcpServerName: "Zoë",
  apiKeyVerificationStatus: "pending",
  oauth2ClientId: "client",
  oauth2Scopes: ["mcp.read"],
  agentEnabled: false,
  disabledTools: [],
  createdAt: timestampFromDate(new Date("2026-01-02T03:04:05.678Z")),
  accessType: "read",
};

/** Requests that reached the implementation, newest last. */
export interface Seen {
  readonly requests: object[];
  readonly signals: AbortSignal[];
}

/**
 * An implementation of the real contract that echoes requests and fails on demand. It replaces the domain in tests of
 * the transport layer.
 */
export function standIn(seen: Seen): TransportDeps["implementations"] {
  return {
    connection: {
      createConnection: (request, context) => {
        seen.requests.push(request);
        principalOf(context);
        if (request.serverType === "") throw invalid("server_type", "server_type is required.");
        context.responseHeader.set("location", "/api/v1/mcp-servers/7");
        return {
          serverId: "7",
          status: "active",
          serverType: request.serverType,
          name: request.name ?? "",
          createdAt: CONNECTION.createdAt,
        };
      },
      listConnections: (request) => {
        seen.requests.push(request);
        const count = request.limit === 1 || request.limit === 500 ? request.limit : 0;
        return { success: true, data: Array.from({ length: count }, () => CONNECTION) };
      },
      getConnection: async (request, context) => {
        seen.requests.push(request);
        switch (request.serverId) {
          case "404":
            throw new DomainError("not_found", "MCP server 404 not found or not accessible");
          case "409":
            throw new DomainError("conflict", "It changed meanwhile.");
          case "412":
            throw new DomainError("stale", "It is out of date.");
          case "413":
            throw new DomainError("too_large", "It is too large.");
          case "429":
            throw new DomainError("exhausted", "Slow down.", { retryAfterSeconds: 2.5 });
          case "500":
            throw new Error("the password is hunter2");
          case "501":
            throw new DomainError("internal", "the database did not answer", { cause: new Error("hunter2") });
          case "503":
            throw new DomainError("unavailable", "Come back.", { retryAfterSeconds: 1 });
          case "600": {
            seen.signals.push(context.signal);
            context.signal.throwIfAborted();
            await new Promise((_resolve, reject) => {
              context.signal.addEventListener(
                "abort",
                () => {
                  reject(new Error("aborted"));
                },
                { once: true },
              );
            });
          }
        }
        return request.view === "detailed"
          ? { message: "MCP server retrieved", connection: { connectionId: request.serverId, config: { a: 1 } } }
          : { success: true, data: CONNECTION };
      },
      updateConnection: (request) => {
        seen.requests.push(request);
        return { success: true, data: { ...CONNECTION, agentEnabled: request.agentEnabled ?? false } };
      },
      deleteConnection: (request) => {
        seen.requests.push(request);
        return { success: true, data: 0, message: "MCP server deleted" };
      },
      listConnectionTools: (request) => {
        seen.requests.push(request);
        return { success: true, data: { tools: [], totalCount: 0, mcpServerId: 7 } };
      },
      listToolChanges: () => ({ success: true, data: [] }),
      acceptToolChanges: () => ({ success: true, data: { accepted: [], pendingCount: 0 } }),
      authorizeConnection: () => ({
        success: true,
        data: {
          authorizationUrl: "https://example.com/authorizations/t",
          authorizationUrlExpiresAt: CONNECTION.createdAt,
        },
      }),
      watchConnections: async function* (request, context) {
        seen.requests.push(request);
        seen.signals.push(context.signal);
        if (request.serverId === "404")
          throw new DomainError("not_found", "MCP server 404 not found or not accessible");
        yield { event: "snapshot", connections: [CONNECTION] };
        if (request.serverId === "503") throw new DomainError("unavailable", "The token has expired.");
        if (request.serverId === "1") return;
        await new Promise<void>((resolve) => {
          context.signal.addEventListener(
            "abort",
            () => {
              resolve();
            },
            { once: true },
          );
        });
      },
    },
    integration: {
      listIntegrations: () => ({ success: true, data: [] }),
      getIntegration: ({ serverType }) => ({ success: true, data: { serverType } }),
      validateConfiguration: () => ({ success: true, data: { valid: true, errors: [] } }),
      previewTools: () => ({
        success: true,
        data: { tools: [], totalCount: 0, limit: 100, offset: 0, hasMore: false },
      }),
    },
    history: {
      listCalls: () => ({ success: true, data: [] }),
      getUsage: () => ({ success: true, data: [], hasMore: false }),
      getCall: notPlayed,
      listConnectionUsage: () => ({ success: true, data: [] }),
    },
    tool: {
      searchTools: () => ({ success: true, data: [], totalCount: 0, limit: 20, offset: 0, hasMore: false }),
    },
    accountSettings: {
      getAccountSettings: () => ({ success: true, data: { toolSearch: false } }),
      updateAccountSettings: ({ toolSearch = false }) => ({ success: true, data: { toolSearch } }),
    },
    admin: {
      listAccounts: notPlayed,
      createAccount: notPlayed,
      getAccount: notPlayed,
      disableAccount: notPlayed,
      enableAccount: notPlayed,
      endAccountSessions: notPlayed,
      purgeAccount: notPlayed,
      listSigningKeys: notPlayed,
      rotateSigningKeys: notPlayed,
      getSystemStatus: notPlayed,
    },
    audit: {
      listAuditEvents: notPlayed,
      listAllAuditEvents: notPlayed,
    },
    grant: {
      listGrants: notPlayed,
      revokeGrant: notPlayed,
    },
    organization: {
      createOrganization: notPlayed,
      listOrganizations: notPlayed,
      getOrganization: notPlayed,
      updateOrganization: notPlayed,
      deleteOrganization: notPlayed,
      transferOwnership: notPlayed,
      listMembers: notPlayed,
      updateMember: notPlayed,
      removeMember: notPlayed,
    },
    oauthClient: {
      createOAuthClient: notPlayed,
      listOAuthClients: notPlayed,
      getOAuthClient: notPlayed,
      updateOAuthClient: notPlayed,
      rotateOAuthClientSecret: notPlayed,
      revokeOAuthClient: notPlayed,
    },
    webhook: {
      createWebhook: notPlayed,
      listWebhooks: notPlayed,
      getWebhook: notPlayed,
      updateWebhook: notPlayed,
      rotateWebhookSecret: notPlayed,
      deleteWebhook: notPlayed,
      listWebhookDeliveries: notPlayed,
      getWebhookDelivery: notPlayed,
      resendWebhookDelivery: notPlayed,
    },
    personalAccessToken: {
      createPersonalAccessToken: notPlayed,
      listPersonalAccessTokens: notPlayed,
      getPersonalAccessToken: notPlayed,
      rotatePersonalAccessToken: notPlayed,
      revokePersonalAccessToken: notPlayed,
    },
    runtime: {
      initialize: (request) => {
        seen.requests.push(request);
        return {
          sessionId: "s",
          protocolVersion: request.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "patchbay", version: "1" },
        };
      },
      listTools: (request, context) => {
        seen.requests.push(request);
        const session = context.requestHeader.get("x-session-id");
        if (session === null) throw invalid("X-Session-ID", "The X-Session-ID header is required.");
        return { tools: [{ name: session, description: "", inputSchema: { type: "object" } }] };
      },
      callTool: (request) => {
        seen.requests.push(request);
        const text = "x".repeat(request.name === "large" ? 100_000 : 1);
        return { content: [{ type: "text", text }], isError: false, structuredContent: request.arguments ?? {} };
      },
    },
  };
}

/** Accepts tokens that list their scopes, separated by commas. The token `expired` is invalid. */
export function verify(authorization: string | undefined, audiences: readonly string[]): Principal {
  if (authorization === undefined)
    throw new DomainError("unauthenticated", "Authentication credentials were not provided.", {
      reason: "CREDENTIALS_MISSING",
    });
  const token = /^Bearer ([a-z.,]+)$/.exec(authorization)?.[1];
  const words = token?.split(",") ?? [];
  if (words.length === 0 || !words.every(isScope))
    throw new DomainError("unauthenticated", "Invalid or expired token.");
  return {
    accountId: "a",
    clientId: "c",
    scopes: new Set(words),
    connectionId: undefined,
    grantId: undefined,
    memberId: undefined,
    role: undefined,
    connectionIds: undefined,
    tokenId: "t",
    audience: audiences[0] ?? "",
    issuedAt: 0,
    expiresAt: undefined,
  };
}

/** A running test server. */
export interface Running {
  readonly url: string;
  readonly port: number;
  readonly seen: Seen;
  readonly logged: object[];
  readonly listener: Port;
  stop(graceMs?: number): Promise<void>;
}

/** Starts the test server on a free port on loopback. */
export async function startStandIn(
  options: Partial<TransportDeps> & {
    readonly portLimits?: Partial<PortLimits>;
    readonly tls?: { cert: string; key: string };
  } = {},
): Promise<Running> {
  const seen: Seen = { requests: [], signals: [] };
  const logged: object[] = [];
  const keep = (fields: object): void => {
    logged.push(fields);
  };
  const log: Log = { error: keep, warn: keep };
  const transport = createTransport({
    implementations: standIn(seen),
    verifier: { verify },
    publicUrl: "http://patchbay.test",
    corsOrigins: [],
    trustProxy: false,
    log,
    extraRoutes: [],
    isReady: () => true,
    ...options,
  });
  const listener = createPort({
    host: "127.0.0.1",
    port: 0,
    handler: transport.handler,
    ...(options.tls && { tls: options.tls }),
    ...(options.portLimits && { limits: options.portLimits }),
  });
  const { port } = await listener.listen();
  return {
    url: `${options.tls === undefined ? "http" : "https"}://127.0.0.1:${String(port)}`,
    port,
    seen,
    logged,
    listener,
    stop: async (graceMs = 500) => {
      transport.endStreams();
      await listener.close(graceMs);
    },
  };
}

function notPlayed(): never {
  throw new Error("the stand-in does not play this");
}
