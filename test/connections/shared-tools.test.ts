import { afterAll, beforeAll, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Connection } from "../../src/connections/connection.ts";
import type { ConnectionStore } from "../../src/connections/connection-store.ts";
import type { ConnectionTools } from "../../src/connections/connection-tools.ts";
import { createCurrentTools } from "../../src/connections/definitions/current-tools.ts";
import { createDefinitionStore } from "../../src/storage/stores/tools/accepted-definitions.ts";
import { createToolLists } from "../../src/connections/tools/tool-lists.ts";
import { createCachedView } from "../../src/connections/cached-view.ts";
import type { ChangeFeed } from "../../src/connections/change-feed.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createToolListStore } from "../../src/storage/stores/tools/tool-list.ts";
import { createToolNames } from "../../src/storage/stores/tools/tool-name.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { parseMasterKeys } from "../../src/storage/master-keys.ts";
import { createMasterKeys } from "../support/service.ts";
import { createWorld, documentOf, type Site, startSite, type World } from "../integrations/openapi-document/support.ts";

let world: World;
let site: Site;
let tools: ConnectionTools;
let store: ConnectionStore;

/** A feed without changes, because these tests run one replica. */
const quiet: ChangeFeed = { onChange: () => () => true, onGap: () => () => true, isHealthy: () => true };

beforeAll(async () => {
  [world, site] = await Promise.all([createWorld(), startSite()]);
  const { orm, pool } = world.database;
  await pool.query("insert into account (id, email, password_hash) values ('a', 'a@example.com', '')");
  store = createConnectionStore({
    orm,
    pool,
    sealer: createSealer(parseMasterKeys(createMasterKeys())),
    hashSecret: (secret) => Buffer.from(secret),
    maxConnections: 10,
    enqueueVerification: () => Promise.resolve(),
    enqueuePurge: () => Promise.resolve(),
  });
  tools = createToolLists({
    catalog: new Map([["openapi", world.integration]]),
    view: createCachedView({ store, feed: quiet }),
    connections: store,
    lists: createToolListStore(pool),
    names: createToolNames(pool),
    feed: quiet,
    currentTools: createCurrentTools({
      store: createDefinitionStore(orm),
      connections: store,
      log: { warn: () => undefined },
    }),
    log: { warn: () => undefined },
  });
});

afterAll(async () => {
  await site?.close();
  await world?.close();
});

function connection(id: number, more: Partial<Connection> = {}): Connection {
  return {
    accountId: "a",
    id,
    serverType: "openapi",
    name: "Acme",
    alias: `acme_${id}`,
    description: "",
    agentEnabled: true,
    accessType: "write",
    configuration: { spec_url: `${site.url}/openapi.json` },
    hasCredential: false,
    verificationStatus: "verified",
    statusReason: undefined,
    keyVersion: 1,
    authMethod: "configured",
    needsAuthorization: false,
    disabledToolIds: [],
    knownToolIds: undefined,
    acceptToolChanges: "manual",
    acceptedDefinitions: undefined,
    changedTools: 0,
    keepContentsDays: 0,
    callIdleSeconds: 0,
    callMaxSeconds: 0,
    oauthClientId: `conn_${id}`,
    createdAt: new Date(),
    updatedAt: new Date(),
    ...more,
  };
}

/** A connection as the store returns it. */
async function stored(): Promise<Connection> {
  const { accountId, serverType, name, description, accessType, configuration, hasCredential, statusReason } =
    connection(0);
  return store.create(
    {
      ...{ accountId, serverType, name, description, accessType, configuration, hasCredential, statusReason },
      secrets: {},
      acceptToolChanges: "manual",
      authMethod: "configured",
      needsAuthorization: false,
    },
    OPERATOR,
  );
}

async function rows(table: string): Promise<number> {
  return (await world.database.pool.query(`select * from ${table}`)).rowCount ?? 0;
}

test("ten thousand connections to one document share one tool list and one row of accepted definitions", async () => {
  const lists = new Set<unknown>();
  for (let count = 0; count < 3; count += 1) lists.add(await tools.of(await stored()));
  const held = (await store.list("a")).map(({ acceptedDefinitions }) => acceptedDefinitions);
  expect(new Set(held).size).toBe(1);
  const [acceptedDefinitions] = held;
  for (let id = 4; id <= 10_000; id += 1) lists.add(await tools.of(connection(id, { acceptedDefinitions })));
  expect(lists.size).toBe(1);
  expect(site.requests).toHaveLength(1);
  expect([await rows("tool_list"), await rows("tool_pin_set"), await rows("tool_definition")]).toEqual([0, 1, 0]);
});

test("a tool that one connection disables stays enabled for the others", async () => {
  const { acceptedDefinitions } = (await store.list("a"))[0] ?? connection(0);
  const [first] = await tools.of(connection(1, { acceptedDefinitions }));
  const narrowed = await tools.of(connection(2, { acceptedDefinitions, disabledToolIds: [first?.id ?? 0] }));
  expect(narrowed.map(({ enabled }) => enabled)).toEqual([false, true]);
  expect((await tools.of(connection(1, { acceptedDefinitions }))).map(({ enabled }) => enabled)).toEqual([true, true]);
});

test("a document change waits for approval on each connection and stores only the changed definitions", async () => {
  const [first, second] = await store.list("a");
  if (first === undefined || second === undefined) throw new Error("two connections were to be there");
  site.document = documentOf({}, { "/things": { get: { operationId: "list_things", summary: "List all things" } } });
  await world.database.pool.query("update openapi_source set due_at = now()");
  await world.documents.maintain();

  const held = await tools.of(first);
  expect(held.map(({ definition }) => definition.description)).toEqual(["List things."]);
  expect(held.map(({ proposed }) => proposed?.description)).toEqual(["List all things."]);
  expect(await tools.of(second)).toBe(held);
  // The changed definition and the removed one.
  expect([await rows("tool_pin_set"), await rows("tool_definition")]).toEqual([1, 2]);
  expect((await store.list("a")).map(({ changedTools }) => changedTools)).toEqual([1, 1, 0]);
});
