import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import { ensureFirstAccount, type FirstAccount } from "../identity/accounts/first-account.ts";
import { startBackground } from "./background.ts";
import { composeAgentView } from "./agent-view.ts";
import { composeAdministration, composePurgeAccount } from "./administration.ts";
import { composeAccess } from "./access.ts";
import { composeAuth } from "./auth.ts";
import { composeAuthorizationServer } from "./authorization-server.ts";
import { composeConnectionAuthorization } from "./connection-authorization.ts";
import { composeConnectionStore } from "./connection-store.ts";
import { composeDocumentation } from "./documentation.ts";
import { composeHistory } from "./history.ts";
import { composeLogin } from "./login.ts";
import { composeGrantedTokens, composeRevocation } from "./granted-tokens.ts";
import { composeIntegrations } from "./integrations.ts";
import { composeToolDefinitions } from "./tool-definitions.ts";
import { composeToolDiscovery } from "./tool-discovery.ts";
import { composeWebhooks } from "./webhooks.ts";
import { composeUpstreamCalls, drain } from "./upstream-calls.ts";
import type { Config } from "../config.ts";
import { createCachedView } from "../connections/cached-view.ts";
import type { ConnectionEvent } from "../connections/change-feed.ts";
import { createConnections } from "../connections/connections.ts";
import { createEarlyRecheck } from "../connections/verification/early-recheck.ts";
import { createToolChangeReview } from "../connections/definitions/tool-change-review.ts";
import { createToolLists } from "../connections/tools/tool-lists.ts";
import { createTrials } from "../connections/trials.ts";
import { createVerification } from "../connections/verification/verification.ts";
import { createStreamSlots } from "../connections/watch/stream-slots.ts";
import { createWatch } from "../connections/watch/watch.ts";
import { createReadiness } from "./readiness.ts";
import { readTls } from "./tls.ts";
import { openFoundation } from "./foundation.ts";
import type { Integration } from "../integrations/integration.ts";
import { createSchemaValidator } from "../integrations/schema-checks/json-schema.ts";
import { createCircuitBreakers } from "../runtime/calls/circuit-breakers.ts";
import { createToolCaller } from "../runtime/calls/call-tool.ts";
import { createActiveRequests } from "../runtime/sessions/active-requests.ts";
import { createToolSearchMode } from "../runtime/tools/tool-search-mode.ts";
import { createOpenStreams } from "../runtime/sessions/open-streams.ts";
import { createRuntime } from "../runtime/runtime.ts";
import { createSessions } from "../runtime/sessions/sessions.ts";
import { createToolChanges } from "../runtime/tools/tool-changes.ts";
import { createToolUse } from "../runtime/calls/tool-use.ts";
import { workOnBackfills } from "../storage/backfills/work-on-backfills.ts";
import { createJobs } from "../storage/jobs.ts";
import { createListener } from "../storage/listener.ts";
import { createCancellationFeed } from "../storage/stores/sessions/cancellation.ts";
import { createChangeFeed } from "../storage/stores/connections/connection-event.ts";
import { createPurge } from "../storage/stores/connections/purge.ts";
import { createVerificationQueue, hastenVerification } from "../storage/stores/connections/verification-queue.ts";
import { createSessionStore } from "../storage/stores/sessions/session.ts";
import { createToolListStore } from "../storage/stores/tools/tool-list.ts";
import { createToolNames } from "../storage/stores/tools/tool-name.ts";
import { createAccountSettingsHandlers } from "../transport/rpc/handlers/account-settings.ts";
import { createConsoleRoutes } from "../transport/pages/files/console.ts";
import { createCallerOf } from "../transport/rpc/caller.ts";
import { createConnectionHandlers } from "../transport/rpc/handlers/connections.ts";
import { createHistoryHandlers } from "../transport/rpc/handlers/history.ts";
import { createIntegrationHandlers } from "../transport/rpc/handlers/integrations.ts";
import { createRuntimeHandlers } from "../transport/rpc/handlers/runtime.ts";
import { createToolHandlers } from "../transport/rpc/handlers/tools.ts";
import { createPort } from "../transport/http/port.ts";
import { servePublic } from "../transport/http/serve-routes.ts";
import { createTransport, transportLimits } from "../transport/transport.ts";

export interface App {
  /** Resolves once requests are served. `firstAccount` is set on the very first start only. */
  listen(): Promise<{ readonly firstAccount: FirstAccount | undefined }>;
  /** Leaves the load balancers, ends the streams, waits for running requests, then closes everything. */
  close(): Promise<void>;
}

/**
 * Builds every object of the service in the order of its dependencies. A program that embeds the service can pass
 * `additional` integrations with their own server types.
 */
export async function createApp(config: Config, log: Logger, additional: readonly Integration[] = []): Promise<App> {
  // If a later step throws, everything opened before is closed, so that the failed start ends.
  await using building = new AsyncDisposableStack();
  const foundation = await openFoundation(config, log, config.databasePoolSize);
  building.defer(() => foundation.close());
  const { database } = foundation;
  const { orm, pool } = database;
  const listener = createListener({ url: foundation.listenUrl, log });
  building.defer(() => listener.close());
  const jobs = createJobs({ pool, maintenance: database.maintenance, log, listener });
  const feed = await createChangeFeed(listener);

  const login = composeLogin(config, foundation, log);
  const auth = await composeAuth(config, foundation, listener, log);
  building.defer(() => auth.close());
  const { revocations, verifier, isTokenValid, memberships } = auth;
  const oauthRoutes = composeAuthorizationServer(config, foundation, login, auth, log);
  const webhooks = await composeWebhooks(config, foundation, listener, log);
  const store = composeConnectionStore(config, foundation, jobs, webhooks.outbox);
  const grantedTokens = composeGrantedTokens(config, foundation, store);
  building.defer(() => grantedTokens.close());
  const integrations = await composeIntegrations(config, foundation, feed, log, additional, grantedTokens);
  building.defer(() => {
    integrations.close();
  });
  const { catalog } = integrations;
  const validator = createSchemaValidator();
  building.defer(() => validator.close());

  const view = createCachedView({ store, feed });
  const toolDefinitions = composeToolDefinitions({ orm, connections: store, webhooks: webhooks.outbox, log });
  const tools = createToolLists({
    catalog,
    view,
    connections: store,
    lists: createToolListStore(pool),
    names: createToolNames(pool),
    feed,
    currentTools: toolDefinitions.currentTools,
    log,
  });
  const verify = createVerification({
    catalog,
    connections: store,
    view,
    tools,
  });
  const streamSlots = createStreamSlots();
  const upstreamCalls = composeUpstreamCalls(config, feed);
  const watch = createWatch({ connections: store, feed, slots: streamSlots, isValid: isTokenValid });

  const sessions = createSessions({ store: createSessionStore(database), idleSeconds: config.sessionIdleSeconds, log });
  feed.onChange(({ accountId, event }) => {
    if (event === "deleted" || event === "updated") sessions.invalidateAccount(accountId);
  });
  const onChange = ({ accountId, connectionId, event }: ConnectionEvent): void => {
    view.forget(accountId);
    sessions.invalidateAccount(accountId);
    if (event === "deleted") revocations.add({ kind: "connection", subject: String(connectionId), before: undefined });
  };
  const authorization = composeConnectionAuthorization(config, foundation, login, {
    ...{ catalog, connections: store, view, onChange, jobs, log },
  });
  const { addresses } = authorization;
  const connections = createConnections({ catalog, validator, store, view, tools, addresses, onChange });
  const { currentTools } = toolDefinitions;
  const review = createToolChangeReview({ catalog, connections, store, tools, currentTools, onChange });
  const discovery = await composeToolDiscovery({ orm, listener, connections: view, tools });
  const { historyDays } = config;
  const history = composeHistory({
    orm,
    pool,
    maintenance: database.maintenance,
    sealer: foundation.sealer,
    historyDays,
    connections: store,
    view,
    catalog,
    log,
  });
  building.defer(() => history.close());
  const serverInfo = { name: "patchbay", version: await ownVersion() };
  const onRefusedKey = createEarlyRecheck({
    makeDue: (connection) => hastenVerification(orm, connection),
    onError: (error) => log.warn({ err: error }, "a key that was refused could not be made due for verification"),
  });
  const seen = { connections: view, catalog, tools, feed, ...upstreamCalls, log };
  const { relay, views, features, tasks, close } = await composeAgentView(foundation, listener, seen);
  building.defer(close);
  const toolUse = createToolUse({
    links: features,
    tasks,
    toolSearchMode: createToolSearchMode({ settings: discovery.settingsView, ranking: discovery.ranking, validator }),
    sessions,
    views,
    caller: createToolCaller({
      connections: view,
      catalog,
      validator,
      history: history.history,
      contents: history.contents,
      circuitBreakers: createCircuitBreakers(),
      ...upstreamCalls,
      onRefusedKey,
    }),
  });
  const runtime = createRuntime({ sessions, tools: toolUse, serverInfo });
  const toolChanges = createToolChanges({ tools: toolUse, feed, settingsFeed: discovery.settingsFeed, log });
  building.defer(() => {
    toolChanges.close();
  });
  const callerOf = createCallerOf(config.trustProxy);
  const readiness = createReadiness(
    async () => listener.isHealthy() && (await database.isResponsive()),
    config.shutdownDelaySeconds * 1_000,
  );
  const transport = createTransport({
    implementations: {
      connection: createConnectionHandlers({
        connections,
        authorize: authorization.authorize,
        watch,
        catalog,
        toolChanges: review,
        callerOf,
      }),
      integration: createIntegrationHandlers({ catalog, trials: createTrials({ catalog, validator }) }),
      history: createHistoryHandlers(history.callHistory),
      runtime: createRuntimeHandlers(runtime),
      tool: createToolHandlers(discovery.search),
      accountSettings: createAccountSettingsHandlers(discovery.settings, callerOf),
      ...composeAccess(config, foundation, revocations, webhooks, callerOf),
      ...composeAdministration({
        ...{ foundation, jobs, revocations, memberships, callerOf },
        version: serverInfo.version,
        isListenerHealthy: () => listener.isHealthy(),
        onMembersChanged: (organizationId) => sessions.invalidateAccount(organizationId),
      }),
    },
    mcp: {
      connections: view,
      sessions,
      tools: toolUse,
      activeRequests: createActiveRequests({ feed: await createCancellationFeed(orm, listener), log }),
      openStreams: createOpenStreams({ sessions, connections: view, slots: streamSlots, isTokenValid, log }),
      toolChanges,
      features,
      tasks,
      ...relay,
      serverInfo,
    },
    verifier,
    publicUrl: config.publicUrl,
    corsOrigins: config.corsOrigins,
    limits: {
      ...transportLimits(config.databasePoolSize, config.rateLimits),
      heartbeatMs: config.heartbeatSeconds * 1_000,
    },
    trustProxy: config.trustProxy,
    log,
    extraRoutes: [
      ...login.routes,
      ...oauthRoutes,
      ...authorization.routes,
      ...servePublic(composeDocumentation(config.publicUrl), log),
      ...servePublic(createConsoleRoutes(fileURLToPath(new URL("../console/dist", import.meta.url))), log),
    ],
    isReady: () => readiness.isReady(),
  });
  const port = createPort({
    host: config.host,
    port: config.port,
    handler: transport.handler,
    ...(config.tls === undefined ? {} : { tls: await readTls(config.tls) }),
  });
  let stopBackground = async (): Promise<unknown> => undefined;
  const built = building.move();

  return {
    async listen() {
      stopBackground = await startBackground({
        ...{ jobs, feed, verify, webhooks, log },
        verifications: createVerificationQueue(orm),
        purge: createPurge(database.maintenance),
        purgeAccount: composePurgeAccount(foundation, jobs),
        revokeGrants: composeRevocation(foundation, catalog, log),
        refreshDocuments: () =>
          integrations.refreshDocuments((url) => toolDefinitions.refreshAffectedConnections(tools, url)),
        purgeDefinitions: () => toolDefinitions.purge(),
        renewHistory: () => history.renew(),
        endIdleSessions: () => sessions.endIdle(),
        workOnBackfills: () => workOnBackfills({ jobs, orm }),
        maintainKeys: () => foundation.keyRotation.maintain(),
      });
      await port.listen();
      // Created last, because its password is printed once and a start that fails must not consume it.
      const firstAccount = await ensureFirstAccount(foundation);
      readiness.enter();
      return { firstAccount };
    },
    async close() {
      port.discourage();
      await readiness.leave();
      const stopped = stopBackground();
      transport.endStreams();
      await Promise.all([stopped, drain(port, upstreamCalls, config)]);
      await jobs.close();
      await built.disposeAsync();
    },
  };
}

async function ownVersion(): Promise<string> {
  const manifest: unknown = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
  return typeof manifest === "object" && manifest !== null && "version" in manifest
    ? String(manifest.version)
    : "0.0.0";
}
