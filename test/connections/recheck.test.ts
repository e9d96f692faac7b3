import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { Connection } from "../../src/connections/connection.ts";
import { createEarlyRecheck } from "../../src/connections/early-recheck.ts";
import { createVerification, type VerificationJob } from "../../src/connections/verification.ts";
import { createWatch } from "../../src/connections/watch.ts";
import { errorResult } from "../../src/integrations/tool.ts";
import { createDueVerifications, type DueConnection } from "../../src/storage/stores/connections/due-verification.ts";
import { createWorld, principal, type World } from "../runtime/world.ts";

let world: World;
const scheduled: { job: VerificationJob; afterSeconds: number }[] = [];
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => {
  world.party.verification = { outcome: "verified" };
  scheduled.length = 0;
});

async function setUp() {
  const account = await world.createAccount();
  const connection = await world.connect(account, ["echo"]);
  const verify = createVerification({
    catalog: world.catalog,
    connections: world.store,
    view: world.view,
    tools: world.tools,
    schedule: (job, afterSeconds) => Promise.resolve(void scheduled.push({ job, afterSeconds })),
  });
  return { account, connection, verify, found: () => world.store.find(account, connection.id) };
}

function recheckOf({ accountId, id, keyVersion }: Connection, attempt = 0): VerificationJob {
  return { accountId, connectionId: id, keyVersion, attempt, isRecheck: true };
}

describe("a recheck of a verified key", () => {
  it("that still works changes nothing", async () => {
    const { connection, verify, found } = await setUp();
    await verify(recheckOf(connection));
    expect(await found()).toEqual(connection);
  });

  it("that fails now makes the connection failed, and whoever watches sees it", async () => {
    const { account, connection, verify, found } = await setUp();
    const watch = createWatch({ connections: world.store, feed: world.feed, isValid: () => Promise.resolve(true) });
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

  it("without an answer leaves it verified, and is tried again a few times", async () => {
    const { connection, verify, found } = await setUp();
    world.party.verification = { outcome: "retry", reason: "Acme answered 500." };
    await verify(recheckOf(connection, 2));
    expect(await found()).toEqual(connection);
    expect(scheduled).toEqual([{ job: recheckOf(connection, 3), afterSeconds: 4 }]);
    await verify(recheckOf(connection, 7));
    expect(scheduled).toHaveLength(1);
  });

  it("of an earlier key counts for nothing", async () => {
    const { connection, verify, found } = await setUp();
    world.party.verification = { outcome: "failed", reason: "Acme refused the key." };
    await verify({ ...recheckOf(connection), keyVersion: 7 });
    expect(await found()).toEqual(connection);
  });
});

describe("the sweep of due keys", () => {
  const due = async (id: number, when: string) => {
    await world.pool.query(`update connection set verify_due_at = ${when} where id = $1`, [id]);
  };
  const sweepInto = (taken: DueConnection[]) =>
    createDueVerifications({
      pool: world.pool,
      enqueue: (_client, connection) => Promise.resolve(void taken.push(connection)),
    });

  it("takes each key that is due once, however many replicas sweep, and sets it to about a day later", async () => {
    const { account, connection } = await setUp();
    const ids = [connection.id];
    for (let count = 0; count < 4; count += 1) ids.push((await world.connect(account, [])).id);
    for (const id of ids.slice(0, 4)) await due(id, "now() - interval '1 minute'");
    const taken: DueConnection[] = [];
    await Promise.all(Array.from({ length: 3 }, () => sweepInto(taken)()));
    expect(taken.map(({ connectionId }) => connectionId).toSorted((a, b) => a - b)).toEqual(ids.slice(0, 4));
    expect(taken[0]).toMatchObject({ accountId: account, keyVersion: 1 });
    const { rows } = await world.pool.query(
      `select 1 from connection where account_id = $1
        and verify_due_at between now() + interval '21 hours' and now() + interval '27 hours'`,
      [account],
    );
    expect(rows).toHaveLength(5);
    expect(await sweepInto(taken)()).toBe(0);
  });

  it("leaves a pending key to the verification that is on its way", async () => {
    const { connection } = await setUp();
    await due(connection.id, "now()");
    await world.pool.query("update connection set verification_status = 'pending' where id = $1", [connection.id]);
    expect(await sweepInto([])()).toBe(0);
  });

  it("keeps a key due when its verification cannot be queued", async () => {
    const { connection } = await setUp();
    await due(connection.id, "now()");
    const broken = createDueVerifications({ pool: world.pool, enqueue: () => Promise.reject(new Error("no queue")) });
    await expect(broken()).rejects.toThrow();
    const taken: DueConnection[] = [];
    expect(await sweepInto(taken)()).toBe(1);
  });
});

describe("a key that is refused in a call", () => {
  it("is told of, once for each such call", async () => {
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

  it("is verified again at once, but not more than once in five minutes, unless it is another key", async () => {
    const { connection } = await setUp();
    let clock = 0;
    const jobs: VerificationJob[] = [];
    const recheck = createEarlyRecheck({
      schedule: (job) => Promise.resolve(void jobs.push(job)),
      onError: () => undefined,
      now: () => clock,
    });
    recheck(connection);
    clock = 299_999;
    recheck(connection);
    expect(jobs).toEqual([recheckOf(connection)]);
    clock = 300_000;
    recheck(connection);
    recheck({ ...connection, keyVersion: 2 });
    recheck({ ...connection, id: connection.id + 1, verificationStatus: "failed" });
    expect(jobs).toEqual([recheckOf(connection), recheckOf(connection), { ...recheckOf(connection), keyVersion: 2 }]);
  });

  it("can be queued by the next call when the queue was not there", async () => {
    const { connection } = await setUp();
    const errors: unknown[] = [];
    let isDown = true;
    let queued = 0;
    const recheck = createEarlyRecheck({
      schedule: () => (isDown ? Promise.reject(new Error("no queue")) : Promise.resolve(void (queued += 1))),
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
