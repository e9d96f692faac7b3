import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { pino } from "pino";
import { type Caller, OPERATOR } from "../../src/identity/actor.ts";
import type { Principal } from "../../src/identity/principal.ts";
import type { Scope } from "../../src/identity/scopes.ts";
import { createCachedView } from "../../src/connections/cached-view.ts";
import type { Connection } from "../../src/connections/connection.ts";
import { createCurrentTools } from "../../src/connections/definitions/current-tools.ts";
import { createToolLists } from "../../src/connections/tools/tool-lists.ts";
import type { UpstreamNotification } from "../../src/integrations/features.ts";
import type { Integration, Verification } from "../../src/integrations/integration.ts";
import { createToolRanking } from "../../src/runtime/search/rank-tools.ts";
import { createSettingsView } from "../../src/connections/settings/settings-view.ts";
import { createSchemaValidator } from "../../src/integrations/schema-checks/json-schema.ts";
import type { Relay } from "../../src/integrations/relay.ts";
import type { CallResult, ToolDefinition } from "../../src/integrations/tool.ts";
import type { JsonObject } from "../../src/json.ts";
import { createCallHistory } from "../../src/runtime/calls/call-history.ts";
import { createContentsRecorder } from "../../src/runtime/calls/contents-recorder.ts";
import { createCallSlots } from "../../src/runtime/calls/call-slots.ts";
import { type CallTimes, DEFAULT_CALL_TIMES } from "../../src/runtime/calls/call-times.ts";
import { createRunningCalls } from "../../src/runtime/calls/running-calls.ts";
import { createCircuitBreakers } from "../../src/runtime/calls/circuit-breakers.ts";
import { createToolCaller } from "../../src/runtime/calls/call-tool.ts";
import { createToolSearchMode } from "../../src/runtime/tools/tool-search-mode.ts";
import { createRuntime } from "../../src/runtime/runtime.ts";
import { createSessions } from "../../src/runtime/sessions/sessions.ts";
import { createToolChanges } from "../../src/runtime/tools/tool-changes.ts";
import { createToolUse } from "../../src/runtime/calls/tool-use.ts";
import { createToolViews } from "../../src/runtime/tools/tools-in-view.ts";
import { openDatabase } from "../../src/storage/database.ts";
import { createListener } from "../../src/storage/listener.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import {
  createAccountSettingsStore,
  createSettingsFeed,
} from "../../src/storage/stores/connections/account-settings.ts";
import { createCallContentsStore } from "../../src/storage/stores/calls/call-contents.ts";
import { createCallRecordStore } from "../../src/storage/stores/calls/call-record.ts";
import { createChangeFeed } from "../../src/storage/stores/connections/connection-event.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createSessionStore } from "../../src/storage/stores/sessions/session.ts";
import { createToolListStore } from "../../src/storage/stores/tools/tool-list.ts";
import { createDefinitionStore } from "../../src/storage/stores/tools/accepted-definitions.ts";
import { createToolNames } from "../../src/storage/stores/tools/tool-name.ts";
import { createTestDatabase } from "../support/database.ts";

/** A call that reached the upstream. */
export interface ReceivedCall {
  readonly connectionId: number;
  readonly tool: string;
  readonly args: JsonObject;
  readonly signal: AbortSignal;
  readonly onProgress: Relay["onProgress"];
}

/** An upstream whose responses a test controls. The configuration of each connection names its tools. */
export interface ThirdParty {
  readonly integration: Integration;
  readonly received: ReceivedCall[];
  /** The response; a test may replace it. */
  answer: (call: ReceivedCall) => Promise<CallResult>;
  /** The result of verifying a key; a test may replace it. */
  verification: Verification;
  /** Defines a tool by name; a test may replace it. */
  define: (name: string) => ToolDefinition;
  /** Announces to every replica that the tools of a connection changed. */
  tellOfTools(connectionId: number): void;
}

/** Returns a tool definition; names that begin with `get` are read-only. */
export function toolNamed(name: string): ToolDefinition {
  return {
    name,
    description: `does ${name}`,
    inputSchema: { type: "object", properties: { text: { type: "string" } } },
    annotations: { audience: ["assistant"], requiresAuth: true },
    readOnly: name.startsWith("get"),
  };
}

function createThirdParty(): ThirdParty {
  const received: ReceivedCall[] = [];
  const hearers: ((connectionId: number, news: UpstreamNotification) => void)[] = [];
  const party: ThirdParty = {
    received,
    define: toolNamed,
    tellOfTools(connectionId) {
      for (const hear of hearers) hear(connectionId, { kind: "list_changed", list: "tools" });
    },
    verification: { outcome: "verified" },
    answer: ({ connectionId, tool }) =>
      Promise.resolve({ content: [{ type: "text", text: `${tool} of ${connectionId}` }], isError: false }),
    integration: {
      serverType: "acme",
      title: "Acme",
      description: "A third party.",
      configurationSchema: { type: "object" },
      secretProperties: ["api_token"],
      credentialProperty: "api_token",
      destinationProperties: [],
      toolSource: "per_connection",
      async listTools({ configuration }) {
        if (configuration.hangs === true) await new Promise(() => undefined);
        const { tools } = configuration;
        return Array.isArray(tools)
          ? tools.filter((name) => typeof name === "string").map((name) => party.define(name))
          : [];
      },
      callTool({ connectionId }, { name }, args, { signal, onProgress }) {
        const call = { connectionId, tool: name, args, signal, onProgress };
        received.push(call);
        return party.answer(call);
      },
      onNotification: (hear) => void hearers.push(hear),
      verify: () => Promise.resolve(party.verification),
    },
  };
  return party;
}

/** Returns a principal of the account, by default unbound and with both `mcp` scopes. */
export function principal(
  accountId: string,
  changes: Partial<Omit<Principal, "scopes">> & { scopes?: Scope[] } = {},
): Caller {
  return {
    origin: { address: "192.0.2.1", userAgent: "a test" },
    accountId,
    clientId: "client_1",
    connectionId: undefined,
    grantId: undefined,
    memberId: undefined,
    role: undefined,
    connectionIds: undefined,
    tokenId: "token_1",
    audience: "http://localhost",
    issuedAt: 0,
    expiresAt: undefined,
    ...changes,
    scopes: new Set(changes.scopes ?? ["mcp.read", "mcp.write"]),
  };
}

/** Starts the service without protocol handlers, on its own database and with one upstream. */
export async function createWorld(
  options: {
    idleSeconds?: number;
    /** How long a call may take. */
    times?: Partial<CallTimes>;
    /** Limits of running calls per connection and per account. */
    maxInFlight?: number;
    maxOfAccount?: number;
    now?: () => number;
    /** Further integrations. */
    integrations?: readonly Integration[];
  } = {},
) {
  const log = pino({ level: "silent" });
  const testDatabase = await createTestDatabase();
  const database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  const { orm, pool } = database;
  const party = createThirdParty();
  const catalog = new Map(
    [party.integration, ...(options.integrations ?? [])].map((integration) => [integration.serverType, integration]),
  );
  const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
  const store = createConnectionStore({
    orm,
    pool,
    sealer,
    hashSecret: (secret) => Buffer.from(secret.length.toString()),
    maxConnections: 1_000,
    enqueueVerification: () => Promise.resolve(),
    enqueuePurge: () => Promise.resolve(),
  });
  const lists = createToolListStore(pool);
  const names = createToolNames(pool);
  const settingsStore = createAccountSettingsStore(orm);
  const closing: (() => Promise<void>)[] = [];
  const refusedKeys: number[] = [];

  /** One more process of the service on the same database. */
  async function createReplica() {
    const listener = createListener({ url: testDatabase.url, log });
    const feed = await createChangeFeed(listener);
    const view = createCachedView({ store, feed });
    const currentTools = createCurrentTools({ store: createDefinitionStore(orm), connections: store, log });
    const tools = createToolLists({
      catalog,
      view,
      connections: store,
      lists,
      names,
      feed,
      currentTools,
      log,
    });
    const sessionStore = createSessionStore({ orm, pool });
    const sessions = createSessions({ store: sessionStore, idleSeconds: options.idleSeconds ?? 86_400, log });
    const history = createCallHistory({ store: createCallRecordStore(pool), log });
    const contentsStore = createCallContentsStore({ orm, sealer, historyDays: 30 });
    const contents = createContentsRecorder({ connections: view, catalog, store: contentsStore, history, log });
    const views = createToolViews({ connections: view, tools });
    const validator = createSchemaValidator();
    const settingsFeed = await createSettingsFeed(listener);
    const settings = createSettingsView({ store: settingsStore, feed: settingsFeed });
    const running = createRunningCalls();
    const caller = createToolCaller({
      connections: view,
      catalog,
      validator,
      history,
      contents,
      circuitBreakers: createCircuitBreakers({ now: options.now ?? Date.now }),
      onRefusedKey: (connection) => void refusedKeys.push(connection.id),
      running,
      times: { ...DEFAULT_CALL_TIMES, ...options.times },
      slots: createCallSlots(options.maxInFlight, options.maxOfAccount),
    });
    const toolSearchMode = createToolSearchMode({ settings, ranking: createToolRanking(), validator });
    const toolUse = createToolUse({
      sessions,
      views,
      caller,
      toolSearchMode,
      links: { withClientLinks: (_who, _connection, json) => json },
      tasks: { create: () => Promise.reject(new Error("No tool of this world returns tasks.")) },
    });
    const toolChanges = createToolChanges({ tools: toolUse, feed, settingsFeed, log });
    const runtime = createRuntime({
      sessions,
      tools: toolUse,
      serverInfo: { name: "patchbay", version: "0.0.0" },
    });
    closing.push(async () => {
      toolChanges.close();
      await contents.close();
      await history.close();
      await listener.close();
    });
    await eventually(() => listener.isHealthy());
    return {
      runtime,
      sessions,
      history,
      contents,
      view,
      feed,
      tools,
      currentTools,
      listener,
      settings,
      toolChanges,
      running,
    };
  }

  const replica = await createReplica();
  let accounts = 0;

  return {
    ...replica,
    orm,
    pool,
    store,
    catalog,
    sealer,
    party,
    createReplica,
    settingsStore,
    /** Connections whose upstream rejected the key in a call. */
    refusedKeys,

    async createAccount(): Promise<string> {
      accounts += 1;
      const id = `acc_${accounts}`;
      await pool.query("insert into account (id, email, password_hash) values ($1, $1 || '@example.com', '')", [id]);
      return id;
    },

    /** Creates a verified connection with the named tools and waits until the first replica has it. */
    connect(accountId: string, tools: readonly string[], more: JsonObject = {}): Promise<Connection> {
      return this.connectTo("acme", accountId, { tools: [...tools], ...more });
    },

    /** Like `connect`, for any of the integrations. */
    async connectTo(serverType: string, accountId: string, configuration: JsonObject): Promise<Connection> {
      const created = await store.create(
        {
          accountId,
          serverType,
          name: "Acme",
          description: "",
          accessType: "write",
          configuration,
          secrets: { api_token: "secret" },
          hasCredential: true,
          statusReason: undefined,
          acceptToolChanges: "manual",
          authMethod: "configured",
          needsAuthorization: false,
        },
        OPERATOR,
      );
      await store.recordVerification(accountId, created.id, 1, "verified", undefined);
      const isKnown = (one: Connection) => one.id === created.id && one.verificationStatus === "verified";
      await eventually(async () => (await replica.view.ofAccount(accountId)).some(isKnown));
      const connection = await store.find(accountId, created.id);
      if (connection === undefined) throw new Error("the connection just made is gone");
      return connection;
    },

    /** Changes a connection and waits until the first replica has read it. */
    async change(before: Connection, changes: Partial<Connection>): Promise<Connection> {
      const after = await store.save(before, { ...before, ...changes }, {}, { actor: OPERATOR, fields: [] });
      if (after === undefined) throw new Error("the connection changed meanwhile");
      const isKnown = (one: Connection) => one.id === after.id && one.updatedAt.getTime() === after.updatedAt.getTime();
      await eventually(async () => (await replica.view.ofAccount(after.accountId)).some(isKnown));
      return after;
    },

    async open(who: Principal): Promise<string> {
      const clientInfo = { name: "test", version: "1" };
      const { sessionId } = await replica.runtime.initialize(who, { protocolVersion: "2025-06-18", clientInfo });
      return sessionId;
    },

    /** Returns the tool names on all pages. */
    async names(who: Principal, sessionId: string): Promise<string[]> {
      const listed: string[] = [];
      let cursor: string | undefined;
      do {
        const page = await replica.runtime.listTools(who, sessionId, cursor);
        listed.push(...page.tools.map(({ name }) => name));
        cursor = page.nextCursor;
      } while (cursor !== undefined);
      return listed;
    },

    /** Returns the text of a call's result. */
    async call(who: Principal, sessionId: string, name: string, args: JsonObject = {}): Promise<string> {
      return textOf(await replica.runtime.callTool(who, sessionId, name, args, {}));
    },

    async close(): Promise<void> {
      for (const close of closing) await close();
      await database.close();
      await testDatabase.close();
    },
  };
}

export type World = Awaited<ReturnType<typeof createWorld>>;

/** Returns the text of the first block of a result, with a prefix for errors. */
export function textOf({ content, isError }: CallResult): string {
  const text = content[0]?.text;
  return `${isError ? "error: " : ""}${typeof text === "string" ? text : JSON.stringify(content)}`;
}

/** Waits up to five seconds until the condition is true. */
export async function eventually(holds: () => boolean | Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries += 1) {
    if (await holds()) return;
    await sleep(10);
  }
  throw new Error("it never came to hold");
}
