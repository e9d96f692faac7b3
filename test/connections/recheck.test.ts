import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Connection } from "../../src/connections/connection.ts";
import { createEarlyRecheck } from "../../src/connections/verification/early-recheck.ts";
import { createVerification } from "../../src/connections/verification/verification.ts";
import type { DueVerification } from "../../src/connections/verification/verification-queue.ts";
import { createStreamSlots } from "../../src/connections/watch/stream-slots.ts";
import { createWatch } from "../../src/connections/watch/watch.ts";
import { errorResult } from "../../src/integrations/tool.ts";
import { createWorld, principal, type World } from "../runtime/world.ts";

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  world.party.verification = { outcome: "verified" };
});

async function setUp() {
  const account = await world.createAccount();
  const connection = await world.connect(account, ["echo"]);
  const { catalog, store: connections, view, tools } = world;
  const verifyKey = createVerification({ catalog, connections, view, tools });
  const verify = (due: DueVerification) => verifyKey(due, new AbortController().signal);
  return { account, connection, verify, found: () => world.store.find(account, connection.id) };
}

function recheckOf({ accountId, id, keyVersion }: Connection, attempt = 0): DueVerification {
  return { accountId, connectionId: id, keyVersion, attempt };
}

describe("a recheck of a verified key", () => {
  it("changes nothing when the key still works", async () => {
    const { connection, verify, found } = await setUp();
    await verify(recheckOf(connection));
    expect(await found()).toEqual(connection);
  });

  it("marks the connection as failed and notifies its watchers when the key fails", async () => {
    const { account, connection, verify, found } = await setUp();
    const watch = createWatch({
      connections: world.store,
      feed: world.feed,
      slots: createStreamSlots(),
      isValid: () => Promise.resolve(true),
    });
    const controller = new AbortController();
    const events = watch(principal(account, { scopes: ["mgmt.read"] }), String(connection.id), controller.signal);
    const stream = events[Symbol.asyncIterator]();
    await stream.next();
    world.party.verification = { outcome: "failed", reason: "Acme refused the key." };
    await verify(recheckOf(connection));
    expect(await found()).toMatchObject({ verificationStatus: "failed", statusReason: "Acme refused the key." });
    const { value } = await stream.next();
    expect(value).toMatchObject({
      event: "updated",
      connection: { id: connection.id, verificationStatus: "failed" },
    });
    controller.abort();
    await stream.return?.();
    world.party.verification = { outcome: "verified" };
    await verify(recheckOf(connection));
    expect(await found()).toMatchObject({ verificationStatus: "verified", statusReason: undefined });
  });

  it("without a response leaves the key verified and retries a few times", async () => {
    const { connection, verify, found } = await setUp();
    world.party.verification = { outcome: "retry", reason: "Acme answered 500." };
    expect(await verify(recheckOf(connection, 2))).toBe(4);
    expect(await found()).toEqual(connection);
    expect(await verify(recheckOf(connection, 7))).toBeUndefined();
  });

  it("of an earlier key is ignored", async () => {
    const { connection, verify, found } = await setUp();
    world.party.verification = { outcome: "failed", reason: "Acme refused the key." };
    await verify({ ...recheckOf(connection), keyVersion: 7 });
    expect(await found()).toEqual(connection);
  });
});

describe("a key that is rejected in a call", () => {
  it("is reported once for each such call", async () => {
    const { account, connection } = await setUp();
    const me = principal(account);
    const session = await world.open(me);
    world.refusedKeys.length = 0;
    world.party.answer = () => Promise.resolve(errorResult("Acme answered 401.", "refused_key"));
    await world.call(me, session, "echo");
    world.party.answer = () => Promise.resolve(errorResult("Acme answered 500.", "down"));
    await world.call(me, session, "echo");
    expect(world.refusedKeys).toEqual([connection.id]);
  });

  it("is verified again at once, but at most once in five minutes per key", async () => {
    const { connection } = await setUp();
    let clock = 0;
    const hastened: Connection[] = [];
    const recheck = createEarlyRecheck({
      makeDue: (refused) => Promise.resolve(void hastened.push(refused)),
      onError: () => undefined,
      now: () => clock,
    });
    recheck(connection);
    clock = 299_999;
    recheck(connection);
    expect(hastened).toEqual([connection]);
    clock = 300_000;
    recheck(connection);
    recheck({ ...connection, keyVersion: 2 });
    recheck({ ...connection, id: connection.id + 1, verificationStatus: "failed" });
    expect(hastened).toEqual([connection, connection, { ...connection, keyVersion: 2 }]);
  });

  it("can be queued by the next call after the queue was unavailable", async () => {
    const { connection } = await setUp();
    const errors: unknown[] = [];
    let isDown = true;
    let queued = 0;
    const recheck = createEarlyRecheck({
      makeDue: () => (isDown ? Promise.reject(new Error("no queue")) : Promise.resolve(void (queued += 1))),
      onError: (error) => void errors.push(error),
    });
    recheck(connection);
    await Promise.resolve();
    await Promise.resolve();
    expect(errors).toHaveLength(1);
    isDown = false;
    recheck(connection);
    expect(queued).toBe(1);
  });
});
