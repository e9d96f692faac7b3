import { afterAll, beforeAll, expect, it } from "vitest";
import type { Connection } from "../../src/connections/connection.ts";
import type { ConnectionStore } from "../../src/connections/connection-store.ts";
import { createStreamSlots, MAX_STREAMS_PER_ACCOUNT } from "../../src/connections/watch/stream-slots.ts";
import { createWatch, type WatchEvent } from "../../src/connections/watch/watch.ts";
import { createWorld, principal, type World } from "../runtime/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** Watches over a store that counts its reads. */
function setUp(perAccount?: number) {
  const reads: string[] = [];
  const connections: ConnectionStore = {
    ...world.store,
    find: (accountId, id) => {
      reads.push(`find ${id}`);
      return world.store.find(accountId, id);
    },
    list: (accountId) => {
      reads.push("list");
      return world.store.list(accountId);
    },
  };
  const slots = createStreamSlots(perAccount);
  const watch = createWatch({ connections, feed: world.feed, slots, isValid: () => true });
  const controller = new AbortController();
  const open = (accountId: string): AsyncIterator<WatchEvent> =>
    watch(principal(accountId, { scopes: ["mgmt.read"] }), undefined, controller.signal)[Symbol.asyncIterator]();
  return { reads, open, controller };
}

async function change({ accountId, id, keyVersion }: Connection, status: "verified" | "failed"): Promise<void> {
  await world.store.recordVerification(accountId, id, keyVersion, status, undefined);
}

/** Reads events until one carries the status. */
async function nextWith(stream: AsyncIterator<WatchEvent>, status: Connection["verificationStatus"]): Promise<void> {
  for (;;) {
    const { value } = (await stream.next()) as { value: WatchEvent };
    if (value.event === "updated" && value.connection.verificationStatus === status) return;
  }
}

it("reads a changed connection once for all watchers of the account, and again after the next change", async () => {
  const account = await world.createAccount();
  const connection = await world.connect(account, []);
  const { reads, open, controller } = setUp();
  const streams = Array.from({ length: 20 }, () => open(account));
  await Promise.all(streams.map((stream) => stream.next()));
  // Events of the set-up may arrive after the snapshots; this change is the last of them.
  await change(connection, "failed");
  await Promise.all(streams.map((stream) => nextWith(stream, "failed")));
  for (const outcome of ["verified", "failed"] as const) {
    reads.length = 0;
    const next = Promise.all(streams.map((stream) => stream.next()));
    await change(connection, outcome);
    const updated = { event: "updated", connection: { id: connection.id, verificationStatus: outcome } };
    for (const { value } of await next) expect(value).toMatchObject(updated);
    expect(reads).toEqual([`find ${connection.id}`]);
  }
  controller.abort();
  for (const stream of streams) await stream.return?.();
});

it("rejects a watch above the account's stream limit until another one ends, without affecting other accounts", async () => {
  const [account, other] = [await world.createAccount(), await world.createAccount()];
  const { open, controller } = setUp(2);
  const [first, second] = [open(account), open(account)];
  await Promise.all([first.next(), second.next()]);
  await expect(open(account).next()).rejects.toMatchObject({
    kind: "exhausted",
    message: "The account has 2 streams open, which is the limit. Close one, then open another.",
  });
  expect(await open(other).next()).toMatchObject({ value: { event: "snapshot" } });
  await first.return?.();
  expect(await open(account).next()).toMatchObject({ value: { event: "snapshot" } });
  controller.abort();
});

it("allows an account 200 streams", () => {
  expect(MAX_STREAMS_PER_ACCOUNT).toBe(200);
});
