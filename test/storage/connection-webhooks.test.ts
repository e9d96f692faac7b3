import { randomBytes } from "node:crypto";
import { afterEach, beforeEach, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Connection } from "../../src/connections/connection.ts";
import type { ConnectionStore, NewConnection } from "../../src/connections/connection-store.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createDefinitionStore } from "../../src/storage/stores/tools/accepted-definitions.ts";
import { createWebhookStore } from "../../src/storage/stores/webhooks/webhook.ts";
import { createWebhookOutbox } from "../../src/storage/stores/webhooks/webhook-outbox.ts";
import { createQuietAccounts } from "../../src/webhooks/quiet-accounts.ts";
import { WEBHOOK_EVENT_TYPES } from "../../src/webhooks/webhook-event.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const ACCOUNT = "acc_a";
const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);

let testDatabase: TestDatabase;
let database: Database;
let store: ConnectionStore;
let definitions: ReturnType<typeof createDefinitionStore>;
let announce: (accountId: string) => void;
let failNext: boolean;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  await database.pool.query("insert into account (id, email, password_hash) values ($1, 'a@example.com', '')", [
    ACCOUNT,
  ]);
  failNext = false;
  announce = () => {};
  const quiet = createQuietAccounts({
    onChange: (callback) => {
      announce = callback;
      return () => {};
    },
    onGap: () => () => {},
    isHealthy: () => true,
  });
  const webhooks = createWebhookOutbox(quiet);
  definitions = createDefinitionStore(database.orm, webhooks);
  store = createConnectionStore({
    orm: database.orm,
    pool: database.pool,
    sealer,
    hashSecret: (secret) => Buffer.from(secret),
    maxConnections: 20,
    webhooks,
    enqueueVerification: () => Promise.resolve(),
    enqueuePurge: () => (failNext ? Promise.reject(new Error("the queue is broken")) : Promise.resolve()),
  });
});

afterEach(async () => {
  await database.close();
  await testDatabase.close();
});

const fresh: NewConnection = {
  accountId: ACCOUNT,
  serverType: "acme",
  name: "People",
  description: "",
  accessType: "write",
  configuration: { company_domain: "acme" },
  secrets: { api_token: "canary-secret" },
  hasCredential: true,
  statusReason: undefined,
  acceptToolChanges: "manual",
  authMethod: "configured",
  needsAuthorization: false,
};

async function listen(): Promise<void> {
  const webhook = {
    accountId: ACCOUNT,
    id: "webhook_a",
    name: "",
    url: "https://hooks.example.com/",
    secret: "whsec_",
  };
  await createWebhookStore(database.orm, sealer).insert({ ...webhook, eventTypes: WEBHOOK_EVENT_TYPES }, 20, OPERATOR);
  announce(ACCOUNT);
}

/** The types of the stored events, in order, and the payload of the last one. */
async function events(): Promise<{ readonly types: readonly string[]; readonly last: unknown }> {
  const { rows } = await database.pool.query<{ event_type: string; payload: string }>(
    "select event_type, payload from webhook_delivery order by sequence",
  );
  return { types: rows.map((row) => row.event_type), last: JSON.parse(rows.at(-1)?.payload ?? "null") };
}

async function verify(
  { id, keyVersion }: Connection,
  status: "pending" | "verified" | "failed",
  reason?: string,
): Promise<boolean> {
  return store.recordVerification(ACCOUNT, id, keyVersion, status, reason);
}

test("every change of a connection's state stores one event, and other changes store none", async () => {
  await listen();
  const connection = await store.create(fresh, OPERATOR);
  await verify(connection, "pending", "The upstream did not answer.");
  expect(await verify(connection, "verified")).toBe(true);
  expect(await verify(connection, "verified")).toBe(false);
  await verify(connection, "verified", "Some tools cannot be used.");
  await verify(connection, "failed", "The upstream rejects the key.");
  expect(await events()).toEqual({
    types: ["connection.created", "connection.verified", "connection.failed"],
    last: {
      type: "connection.failed",
      timestamp: expect.stringMatching(/^20.*Z$/),
      data: {
        account_id: ACCOUNT,
        mcp_server_id: connection.id,
        mcp_server_name: "People",
        server_type: "acme",
        status: "error",
        status_reason: "The upstream rejects the key.",
        pending_tool_changes: 0,
      },
    },
  });
  await store.requireAuthorization(ACCOUNT, connection.id, 1, { reason: "Log in again." });
  await store.requireAuthorization(ACCOUNT, connection.id, 1, { reason: "Really log in again." });
  const before = await store.find(ACCOUNT, connection.id);
  if (before === undefined) throw new Error("the connection is missing");
  await store.save(before, { ...before, name: "Other" }, {}, { actor: OPERATOR, fields: ["name"] });
  await store.delete(ACCOUNT, connection.id, OPERATOR);
  const { types, last } = await events();
  expect(types.slice(3)).toEqual(["connection.needs_authorization", "connection.deleted"]);
  expect(last).toMatchObject({ data: { mcp_server_id: connection.id, mcp_server_name: "Other" } });
});

test("an update that requires a new authorization stores an event", async () => {
  await listen();
  const before = await store.create({ ...fresh, authMethod: "oauth2" }, OPERATOR);
  const after: Connection = { ...before, needsAuthorization: true, keyVersion: 2, statusReason: "Log in again." };
  await store.save(before, after, { secrets: {} }, { actor: OPERATOR, fields: ["config"] });
  expect((await events()).types).toEqual(["connection.created", "connection.needs_authorization"]);
});

test("more pending tool changes store an event, and fewer do not", async () => {
  await listen();
  let connection = await store.create(fresh, OPERATOR);
  for (const changedTools of [0, 2, 2, 1, 3]) {
    const kept = {
      accepted: new Map<string, string>(),
      digest: "digest",
      definitions: [],
      changedTools,
      notifiesWatchers: true,
    };
    const saved = await definitions.keep(connection, kept);
    if (saved === undefined) throw new Error("the definitions were not stored");
    connection = saved;
  }
  const { types, last } = await events();
  expect(types.slice(1)).toEqual(["tool_changes.pending", "tool_changes.pending"]);
  expect(last).toMatchObject({ data: { pending_tool_changes: 3 } });
});

test("a change that is rolled back stores no event", async () => {
  await listen();
  const { id } = await store.create(fresh, OPERATOR);
  failNext = true;
  await expect(store.delete(ACCOUNT, id, OPERATOR)).rejects.toThrow("the queue is broken");
  expect((await events()).types).toEqual(["connection.created"]);
  expect(await store.find(ACCOUNT, id)).toBeDefined();
});

test("changes of an account without webhooks do not read the webhook tables, until a webhook is created", async () => {
  const first = await store.create(fresh, OPERATOR);
  await database.pool.query("alter table webhook rename to hidden");
  await verify(first, "verified");
  await store.requireAuthorization(ACCOUNT, first.id, 1, { reason: "Log in again." });
  await store.delete(ACCOUNT, first.id, OPERATOR);
  const second = await store.create(fresh, OPERATOR);
  await database.pool.query("alter table hidden rename to webhook");
  await listen();
  await verify(second, "verified");
  expect((await events()).types).toEqual(["connection.verified"]);
});
