import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import type { Dispatcher } from "undici";
import { DomainError } from "../../domain-error.ts";
import type { UpstreamNotification } from "../features.ts";
import { canBeAsked, type ClientIdentity } from "../relayed-client.ts";
import { RpcError } from "../rpc-error.ts";
import type { Integration } from "../integration.ts";
import type { Target } from "../target.ts";
import type { OwnerAuthorization } from "../authorization.ts";
import type { GrantedTokens } from "../oauth/granted-tokens.ts";
import {
  createUpstreamRateLimiter,
  rateLimitedResult,
  MAX_WAIT_MS,
  NO_RATE_LIMITS,
  DEFAULT_WAIT_MS,
} from "../upstream-rate-limiter.ts";
import { declaresTasks } from "../tasks.ts";
import { errorResult, type UpstreamFault } from "../tool.ts";
import { readCallResult, readTask } from "./call-result.ts";
import { InputUnanswered, requestWithInput } from "./input-required.ts";
import { checkMcpConfiguration, MCP_CONFIGURATION_SCHEMA } from "./configuration.ts";
import { endpointFor, endpointOf, MCP_SECRET_PROPERTIES } from "./http/endpoint.ts";
import { createFeatures } from "./lists/features.ts";
import { listUpstreamTools, tryTools } from "./lists/list-tools.ts";
import { restoreTool } from "./lists/read-tool.ts";
import { createClientStreams } from "./sessions/client-streams.ts";
import { createListStreams } from "./sessions/list-streams.ts";
import { createLogLevels } from "./sessions/log-level.ts";
import { openSession } from "./sessions/open-session.ts";
import { createRequester } from "./sessions/request.ts";
import type { UpstreamSession } from "./sessions/session.ts";
import { createUpstreamSessions } from "./sessions/sessions.ts";
import { argumentHeaders } from "./sessions/request-metadata.ts";
import { readSessionTask, REQUESTED_TTL_MS } from "./sessions/session-task.ts";
import { needsTask } from "./sessions/task-support.ts";
import { UpstreamFailure } from "./failures/upstream-failure.ts";
import { createUpstreamWatcher, type SessionStream } from "./sessions/watch-upstream.ts";

export interface McpIntegrationDeps {
  /** The guarded dispatcher. */
  readonly dispatcher: Dispatcher;
  /** Returns why a `url` must not become a destination, or undefined. */
  readonly checkDestination: (url: string) => string | undefined;
  readonly log: Logger;
  readonly authorization?: OwnerAuthorization;
  /** Tokens of connections that their owners authorized. */
  readonly tokens?: GrantedTokens;
  /** Milliseconds for a whole listing or verification; default 30,000 (DESIGN §8). The signal of a call limits it. */
  readonly timeoutMs?: number;
  /** Milliseconds that an upstream session stays open unused; default 10 minutes. */
  readonly sessionIdleMs?: number;
}

/** Connects any remote MCP server over Streamable HTTP or HTTP+SSE. `close` closes all upstream sessions. */
export function createMcpIntegration(deps: McpIntegrationDeps): Integration & { close(): void } {
  const { timeoutMs = 30_000, sessionIdleMs = 10 * 60_000 } = deps;
  const requester = createRequester(deps);
  const rateLimiter = createUpstreamRateLimiter();
  const sessions = createUpstreamSessions(requester, {
    tokens: deps.tokens,
    openTimeoutMs: timeoutMs,
    idleMs: sessionIdleMs,
  });
  const listeners: ((connectionId: number, notification: UpstreamNotification) => void)[] = [];
  const onNotification = (connectionId: number, notification: UpstreamNotification): void => {
    if (notification.kind === "updated") watcher.report(connectionId, notification.uri);
    for (const listener of listeners) listener(connectionId, notification);
  };
  const watcher = createUpstreamWatcher({
    sessions,
    requester,
    log: deps.log,
    timeoutMs,
    onNotification,
    openStream,
  });
  const listStreams = createListStreams({
    open: (target, listener, onSettled) => watcher.watchLists(target, listener, onSettled),
    idleMs: sessionIdleMs,
    isInUse: (connectionId) => sessions.isInUse(connectionId),
  });
  const clientStreams = createClientStreams(requester);
  const levels = createLogLevels({ requester, log: deps.log });

  /** Opens the stream on which the server of this session sends requests and notifications outside calls. */
  function openStream(target: Target, session: UpstreamSession, client: ClientIdentity | undefined): SessionStream {
    if (client === undefined || !canBeAsked(client)) {
      const release = listStreams.listen(target, () => undefined);
      return { opened: listStreams.keepOpen(target), ended: undefined, release };
    }
    const pass = (notification: UpstreamNotification): void => onNotification(target.connectionId, notification);
    return { ...clientStreams.open(session, pass), release: () => undefined };
  }

  /** Opens the same stream for a call. Returns undefined if there is nothing to wait for. */
  function openForCall(
    target: Target,
    session: UpstreamSession,
    client: ClientIdentity | undefined,
  ): Promise<void> | undefined {
    if (!hasOwnStream(session)) return undefined;
    if (client === undefined || !canBeAsked(client)) return listStreams.keepOpen(target);
    return openStream(target, session, client).opened;
  }

  async function supportsLogin(target: Target, signal: AbortSignal): Promise<boolean> {
    if (target.configuration.api_token !== undefined || deps.authorization === undefined) return false;
    return deps.authorization.isAvailable(target, signal);
  }

  return {
    serverType: "mcp",
    title: "MCP server",
    description: "Any remote MCP server over Streamable HTTP or HTTP+SSE.",
    category: "custom",
    documentationUrl: "https://modelcontextprotocol.io",
    configurationSchema: MCP_CONFIGURATION_SCHEMA,
    secretProperties: MCP_SECRET_PROPERTIES,
    credentialProperty: "api_token",
    destinationProperties: ["url"],
    toolSource: "per_connection",

    checkConfiguration: (configuration) => checkMcpConfiguration(configuration, deps.checkDestination),

    listTools: async (target, { signal }) => {
      const deadlineMs = performance.now() + timeoutMs;
      try {
        const { tools } = await sessions.use(target, { repeatable: true, signal }, (session) =>
          listUpstreamTools({ ...deps, requester }, session, { deadlineMs, signal }),
        );
        return tools;
      } catch (error) {
        if (error instanceof UpstreamFailure) throw new DomainError("unavailable", error.message, { cause: error });
        throw error;
      }
    },

    restoreTool,

    callTool: async (target, tool, args, options) => {
      const { signal, client } = options;
      const { connectionId } = target;
      const waitMs = rateLimiter.reserve(target, NO_RATE_LIMITS, args);
      if (waitMs > MAX_WAIT_MS)
        return rateLimitedResult(`The MCP server at ${endpointOf(target.configuration).label}`, waitMs);
      if (waitMs > 0) await sleep(waitMs, undefined, { signal });
      try {
        return await sessions.use(target, { repeatable: tool.readOnly, client, signal }, async (session) => {
          if (options.logLevel !== undefined) await levels.ensure(session, options);
          const opening = openForCall(target, session, client);
          if (opening !== undefined) await opening;
          const asTask = needsTask(session, tool, client);
          const { reply, required } = await requestWithInput(options, connectionId, (input) =>
            requester.request(session, {
              method: "tools/call",
              params: {
                name: tool.name,
                arguments: args,
                ...(session.revision === "modern" && input),
                ...(asTask && { task: { ttl: REQUESTED_TTL_MS } }),
              },
              name: tool.name,
              ...(session.revision === "modern" && { headers: argumentHeaders(tool.inputSchema, args) }),
              relay: options,
              onNotification: (notification) => onNotification(connectionId, notification),
              deadlineMs: undefined,
              signal,
            }),
          );
          const unfinished = { content: [], isError: false, bytes: reply.bytes };
          if (required !== undefined) return { ...unfinished, inputRequired: required };
          const task =
            asTask && client !== undefined
              ? readSessionTask(reply, { sessions, requester, target, session, client })
              : readTask(reply);
          if (task === undefined) return readCallResult(reply);
          // A client that cannot use tasks would wait for a result in vain.
          return client !== undefined && declaresTasks(client.capabilities)
            ? { ...unfinished, task }
            : errorResult("The MCP server continues the call as a task, which the client of this call did not allow.");
        });
      } catch (error) {
        if (error instanceof InputUnanswered) return errorResult(error.message);
        if (!(error instanceof UpstreamFailure)) throw error;
        if (error.kind === "busy") rateLimiter.pause(target, error.retryAfterMs ?? DEFAULT_WAIT_MS);
        if (error.answer !== undefined) throw new RpcError(error.answer, error.message);
        return errorResult(withOutcomeWarning(error, tool.readOnly), FAULTS[error.kind]);
      }
    },

    // Uses a new session, because a session opened with an earlier key would not verify this key.
    verify: async (target, { signal }) => {
      const deadlineMs = performance.now() + timeoutMs;
      try {
        const session = await openSession(requester, endpointFor(target, deps.tokens), deadlineMs, signal);
        try {
          const reason = await tryTools({ ...deps, requester }, session, { deadlineMs, signal });
          return { outcome: "verified", ...(reason !== undefined && { reason }) };
        } finally {
          requester.close(session);
        }
      } catch (error) {
        if (!(error instanceof UpstreamFailure)) throw error;
        if (error.kind !== "unauthorized") return { outcome: "retry", reason: error.message };
        if (target.authMethod === "oauth2") return { outcome: "needs_authorization", reason: error.message };
        const { label } = endpointOf(target.configuration);
        return (await supportsLogin(target, signal))
          ? {
              outcome: "needs_authorization",
              reason: `The MCP server at ${label} asks for a login: authorize the connection.`,
            }
          : { outcome: "failed", reason: error.message };
      }
    },

    ...(deps.authorization !== undefined && { authorization: deps.authorization }),
    onNotification: (listener) => void listeners.push(listener),
    features: createFeatures({
      sessions,
      requester,
      levels,
      watcher,
      listStreams,
      log: deps.log,
      timeoutMs,
      onNotification,
    }),

    forget: (connectionId) => {
      rateLimiter.forget(connectionId);
      deps.tokens?.forget(connectionId);
      listStreams.forget(connectionId);
      sessions.forget(connectionId);
    },
    close: () => {
      listStreams.close();
      sessions.close();
    },
  };
}

/** Whether an upstream may send messages to the session outside the call's answer. */
function hasOwnStream({ revision, id, channel, notifiesListChanges }: UpstreamSession): boolean {
  return revision === "legacy" && (notifiesListChanges || id !== undefined || channel !== undefined);
}

/** A JSON-RPC error is the server's answer to the call, not an upstream fault. */
const FAULTS: Readonly<Record<UpstreamFailure["kind"], UpstreamFault | undefined>> = {
  unreachable: "down",
  timeout: "down",
  broken: "down",
  http: "down",
  not_mcp: "down",
  busy: "busy",
  unauthorized: "refused_key",
  declined: "other",
  refused: "other",
  too_large: "other",
  session_lost: "other",
  rpc: undefined,
};

const UNCERTAIN: readonly UpstreamFailure["kind"][] = ["broken", "timeout", "too_large"];

/** Warns callers who might repeat a call that may have been executed. */
function withOutcomeWarning(failure: UpstreamFailure, readOnly: boolean): string {
  const isUncertain = !readOnly && UNCERTAIN.includes(failure.kind);
  return isUncertain ? `${failure.message} The call may have been carried out.` : failure.message;
}
