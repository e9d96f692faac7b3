import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createCachedView } from "../../src/connections/cached-view.ts";
import type { ChangeFeed } from "../../src/connections/change-feed.ts";
import type { ConnectionStore } from "../../src/connections/connection-store.ts";
import type { ConnectionView } from "../../src/connections/connection-view.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { secretsPlace } from "../../src/storage/stores/connections/connection-row.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { patient, type Subject, tool, upstream } from "../integrations/mcp/support.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const ACCOUNT = "a";
const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
/** Reports no changes, because these tests write to the database directly. */
const deaf: ChangeFeed = { onChange: () => () => undefined, onGap: () => () => undefined, isHealthy: () => true };

let testDatabase: TestDatabase;
let database: Database;
let store: ConnectionStore;
let lastId = 0;
let nowMs = 1_000;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  store = createConnectionStore({
    orm: database.orm,
    pool: database.pool,
    sealer,
    hashSecret: (secret) => Buffer.from(secret),
    maxConnections: 10,
    enqueueVerification: () => Promise.resolve(),
    enqueuePurge: () => Promise.resolve(),
  });
  await database.pool.query("insert into account (id, email, password_hash) values ($1, 'a@example.com', '')", [
    ACCOUNT,
  ]);
});
afterAll(async () => {
  await database?.close();
  await testDatabase?.close();
});

const seal = (id: number, key: string): Uint8Array =>
  sealer.seal(JSON.stringify({ api_token: key }), secretsPlace(ACCOUNT, id));

/** Returns an `mcp` connection with a key, its view, and functions to call it and to replace its key. */
async function connect(subject: Subject) {
  lastId += 1;
  const id = lastId;
  const view: ConnectionView = createCachedView({ store, feed: deaf, now: () => nowMs });
  const insert = `insert into connection (account_id, id, server_type, name, access_type, configuration, sealed_secrets,
      has_credential, verification_status, oauth_client_id)
    values ($1, $2::integer, 'mcp', 'A', 'write', $3, $4, true, 'verified', 'c' || $2::integer)`;
  await database.pool.query(insert, [ACCOUNT, id, { url: subject.server.url }, seal(id, "old")]);
  return {
    async call() {
      const connection = await view.find(ACCOUNT, id);
      if (connection === undefined) throw new Error(`there is no connection ${id}`);
      const called = await subject.integration.callTool(await view.target(connection), tool("work"), {}, patient());
      if (called.isError) throw new Error(JSON.stringify(called.content));
    },
    replace: (versions: number) =>
      database.pool.query(
        "update connection set sealed_secrets = $3, key_version = key_version + $4 where account_id = $1 and id = $2",
        [ACCOUNT, id, seal(id, "new"), versions],
      ),
  };
}

const keysOf = (subject: Subject, method: string): unknown[] =>
  subject.server.of(method).map(({ headers }) => headers.authorization);

test.each([
  ["under the same version", 0],
  ["under another version", 1],
])("an mcp connection uses a key that is replaced in the database %s after a minute", async (_title, versions) => {
  const subject = await upstream({});
  const { call, replace } = await connect(subject);
  await call();
  await replace(versions);
  nowMs += 59_000;
  await call();
  nowMs += 2_000;
  await call();
  await call();
  expect(keysOf(subject, "tools/call")).toEqual(["Bearer old", "Bearer old", "Bearer new", "Bearer new"]);
  expect(keysOf(subject, "initialize")).toEqual(["Bearer old", "Bearer new"]);
});

test("the stream of an mcp connection is reopened with the replaced key", async () => {
  const subject = await upstream({
    GET: (_request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
    },
  });
  const { call, replace } = await connect(subject);
  await call();
  await replace(0);
  nowMs += 61_000;
  await call();
  await expect.poll(() => keysOf(subject, "GET")).toEqual(["Bearer old", "Bearer new"]);
});
