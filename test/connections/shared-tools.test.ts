import { afterAll, beforeAll, expect, test } from "vitest";
import type { Connection } from "../../src/connections/connection.ts";
import type { ConnectionTools } from "../../src/connections/connection-tools.ts";
import { createToolLists } from "../../src/connections/tool-lists.ts";
import { createCachedView } from "../../src/connections/cached-view.ts";
import type { ChangeFeed } from "../../src/connections/change-feed.ts";
import { createConnectionStore } from "../../src/storage/stores/connection.ts";
import { createToolListStore } from "../../src/storage/stores/tool-list.ts";
import { createToolNames } from "../../src/storage/stores/tool-name.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { parseMasterKeys } from "../../src/storage/master-keys.ts";
import { createMasterKeys } from "../support/service.ts";
import { createWorld, type Site, startSite, type World } from "../integrations/openapi-document/support.ts";

let world: World;
let site: Site;
let tools: ConnectionTools;

/** A feed in which nothing happens: this is about one replica. */
const quiet: ChangeFeed = { onChange: () => () => true, onGap: () => () => true, isHealthy: () => true };

beforeAll(async () => {
  [world, site] = await Promise.all([createWorld(), startSite()]);
  const { pool } = world.database;
  const store = createConnectionStore({
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
    description: "",
    agentEnabled: true,
    accessType: "write",
    configuration: { spec_url: `${site.url}/openapi.json` },
    hasCredential: false,
    verificationStatus: "verified",
    statusReason: undefined,
    keyVersion: 1,
    disabledToolIds: [],
    knownToolIds: undefined,
    oauthClientId: `conn_${id}`,
    createdAt: new Date(),
    updatedAt: new Date(),
    ...more,
  };
}

test("ten thousand connections to one document hold one list of tools, and no row", async () => {
  const lists = new Set<unknown>();
  for (let id = 1; id <= 10_000; id += 1) lists.add(await tools.of(connection(id)));
  expect(lists.size).toBe(1);
  expect(site.requests).toHaveLength(1);
  expect((await world.database.pool.query("select * from tool_list")).rows).toEqual([]);
});

test("what one of them switches off stays on for the others", async () => {
  const [first] = await tools.of(connection(1));
  const narrowed = await tools.of(connection(2, { disabledToolIds: [first?.id ?? 0] }));
  expect(narrowed.map(({ enabled }) => enabled)).toEqual([false, true]);
  expect((await tools.of(connection(1))).map(({ enabled }) => enabled)).toEqual([true, true]);
});
