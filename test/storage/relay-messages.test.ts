import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createRelayAddress, createRelayMessages, type RelayMessages } from "../../src/runtime/relay/relay-messages.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { createListener, type Listener } from "../../src/storage/listener.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createRelayFeed, createRelayStore } from "../../src/storage/stores/sessions/relay-message.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const WAIT = { timeout: 10_000, interval: 20 };
const ACCOUNT = "a1";
const log = pino({ level: "silent" });
const sealer = createSealer([{ version: 1, key: Buffer.alloc(32, 7) }]);

let testDatabase: TestDatabase;
let database: Database;
let listeners: Listener[];

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  await database.pool.query(
    "insert into account (id, email, password_hash) values ($1, 'a@example.com', 'x'), ('a2', 'b@example.com', 'x')",
    [ACCOUNT],
  );
  listeners = [];
});

afterEach(async () => {
  for (const listener of listeners) await listener.close();
  await database.close();
  await testDatabase.close();
});

async function createReplica(takenWithinMs = 10_000): Promise<RelayMessages> {
  const listener = createListener({ url: testDatabase.url, log });
  listeners.push(listener);
  const feed = await createRelayFeed(listener);
  await vi.waitFor(() => expect(listener.isHealthy()).toBe(true), WAIT);
  return createRelayMessages({ store: createRelayStore(database.orm, sealer), feed, log, takenWithinMs });
}

async function countRows(): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>("select count(*)::integer as count from relay_message");
  return rows[0]?.count ?? 0;
}

test("delivers a message to a receiver on another replica and deletes it", async () => {
  const [here, there] = [await createReplica(), await createReplica()];
  const address = createRelayAddress();
  const received: string[] = [];
  there.receive(ACCOUNT, address, (text) => received.push(text));
  expect(await here.send(ACCOUNT, address, "hello")).toBe(true);
  await vi.waitFor(() => expect(received).toEqual(["hello"]), WAIT);
  expect(await countRows()).toBe(0);
});

test("announces only the name of a message, and stores its text encrypted", async () => {
  const here = await createReplica();
  const watching = createListener({ url: testDatabase.url, log });
  listeners.push(watching);
  const announced: string[] = [];
  const stored: string[] = [];
  await watching.listen("patchbay_relay", (payload) => announced.push(payload));
  await vi.waitFor(() => expect(watching.isHealthy()).toBe(true), WAIT);
  const address = createRelayAddress();
  const sent = here.send(ACCOUNT, address, "a secret answer");
  await vi.waitFor(() => expect(announced).toHaveLength(1), WAIT);
  const { rows } = await database.pool.query<{ sealed_text: Buffer; id: string }>("select * from relay_message");
  stored.push(...rows.map(({ sealed_text: text }) => text.toString("latin1")));
  expect(stored).toHaveLength(1);
  expect(stored[0]).not.toContain("secret");
  expect(announced).toEqual([`${address}.${rows[0]?.id}`]);
  const there = await createReplica();
  there.receive(ACCOUNT, address, () => undefined);
  await database.pool.query("select pg_notify('patchbay_relay', $1)", [announced[0]]);
  expect(await sent).toBe(true);
});

test("returns false and deletes the message if nobody receives at the address", async () => {
  const here = await createReplica(200);
  expect(await here.send(ACCOUNT, createRelayAddress(), "hello")).toBe(false);
  expect(await countRows()).toBe(0);
});

test("never delivers a message to a receiver of another account", async () => {
  const [here, there] = [await createReplica(200), await createReplica()];
  const address = createRelayAddress();
  const received: string[] = [];
  there.receive("a2", address, (text) => received.push(text));
  expect(await here.send(ACCOUNT, address, "hello")).toBe(false);
  here.receive("a2", address, (text) => received.push(text));
  expect(await here.send(ACCOUNT, address, "hello")).toBe(false);
  expect(received).toEqual([]);
});

test("delivers a message whose announcement was lost after the listener reconnects", async () => {
  const there = await createReplica();
  const address = createRelayAddress();
  const received: string[] = [];
  there.receive(ACCOUNT, address, (text) => received.push(text));
  const sealed = createRelayStore(database.orm, sealer);
  // A row without an announcement is what a lost announcement leaves.
  const place = { table: "relay_message", column: "sealed_text", accountId: ACCOUNT, rowId: `${address}.lost` };
  await database.pool.query(
    "insert into relay_message (account_id, address, id, sealed_text, expires_at) values ($1, $2, 'lost', $3, now() + interval '1 minute')",
    [ACCOUNT, address, sealer.seal("late", place)],
  );
  expect(await sealed.waiting(ACCOUNT, address)).toEqual([{ address, id: "lost" }]);
  await database.pool.query(
    "select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'patchbay listener'",
  );
  await vi.waitFor(() => expect(received).toEqual(["late"]), WAIT);
});

test("a receiver that stopped receives nothing more", async () => {
  const [here, there] = [await createReplica(200), await createReplica()];
  const address = createRelayAddress();
  const received: string[] = [];
  const stop = there.receive(ACCOUNT, address, (text) => received.push(text));
  expect(await here.send(ACCOUNT, address, "one")).toBe(true);
  await vi.waitFor(() => expect(received).toEqual(["one"]), WAIT);
  stop();
  expect(await here.send(ACCOUNT, address, "two")).toBe(false);
  expect(received).toEqual(["one"]);
});
