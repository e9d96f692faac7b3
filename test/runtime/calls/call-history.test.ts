import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import { DomainError } from "../../../src/domain-error.ts";
import { createCallHistory } from "../../../src/runtime/calls/call-history.ts";
import { CALL_OUTCOMES, type CallRecord, type CallRecordStore } from "../../../src/runtime/calls/call-record.ts";
import { jsonSize } from "../../../src/runtime/calls/json-size.ts";
import { createCallRecordStore } from "../../../src/storage/stores/calls/call-record.ts";
import { createWorld, principal, type World } from "../world.ts";

let world: World;
const log = pino({ level: "silent" });
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

function recordOf(accountId: string, connectionId: number, toolName = "echo"): CallRecord {
  return {
    accountId,
    connectionId,
    toolName,
    clientId: "client_1",
    startedAt: new Date(1_000),
    durationMs: 12,
    outcome: "ok",
    requestBytes: 2,
    responseBytes: 34,
  };
}

async function rowsOf(connectionId: number): Promise<Record<string, unknown>[]> {
  const { rows } = await world.pool.query<Record<string, unknown>>(
    "select * from call_record where connection_id = $1 order by id",
    [connectionId],
  );
  return rows;
}

/** A real store that can be switched off and counts its writes. */
function createSwitchedStore() {
  const real = createCallRecordStore(world.pool);
  const state = { isDown: false, writes: 0 };
  const store: CallRecordStore = {
    append(records) {
      state.writes += 1;
      if (state.isDown) return Promise.reject(new DomainError("unavailable", "The database cannot be reached."));
      return real.append(records);
    },
  };
  return { store, state };
}

describe("the call history", () => {
  it("records client, tool, time, duration and outcome of a call, but no payloads", async () => {
    const account = await world.createAccount();
    const connection = await world.connect(account, ["echo"]);
    const me = principal(account, { clientId: "client_9" });
    const session = await world.open(me);
    await world.call(me, session, "echo", { text: "canary-argument" });
    await world.history.flush();
    const [row] = await rowsOf(connection.id);
    expect(row).toMatchObject({ account_id: account, tool_name: "echo", client_id: "client_9", outcome: "ok" });
    expect(row?.started_at).toBeInstanceOf(Date);
    expect(row?.request_bytes).toBe(JSON.stringify({ text: "canary-argument" }).length);
    expect(JSON.stringify(row)).not.toContain("canary");
  });

  it("is written in batches, and the remaining records on close", async () => {
    const account = await world.createAccount();
    const { id } = await world.connect(account, []);
    const { store, state } = createSwitchedStore();
    const history = createCallHistory({ store, log });
    for (let count = 0; count < 1_201; count += 1) history.record(recordOf(account, id));
    await history.close();
    expect(await rowsOf(id)).toHaveLength(1_201);
    expect(state.writes).toBeLessThanOrEqual(4);
    history.record(recordOf(account, id));
    await history.flush();
    expect(await rowsOf(id)).toHaveLength(1_201);
  });

  it("writes only full batches while records keep arriving, until a flush writes all of them", async () => {
    const sizes: number[] = [];
    const store: CallRecordStore = { append: async (records) => void sizes.push(records.length) };
    const history = createCallHistory({ store, log });
    for (let count = 0; count < 1_100; count += 1) history.record(recordOf("acc", 1));
    await new Promise(setImmediate);
    expect(sizes).toEqual([500, 500]);
    await Promise.all([history.flush(), history.flush()]);
    expect(sizes).toEqual([500, 500, 100]);
    await history.close();
  });

  it("writes waiting records once a second and retries once a second while the database is unavailable", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    try {
      const sizes: number[] = [];
      let appending = Promise.withResolvers<undefined>();
      const store: CallRecordStore = {
        append: (records) => {
          sizes.push(records.length);
          appending = Promise.withResolvers();
          return appending.promise;
        },
      };
      const history = createCallHistory({ store, log });
      const record = (count: number): void => {
        for (let each = 0; each < count; each += 1) history.record(recordOf("acc", 1));
      };
      record(10);
      await vi.advanceTimersByTimeAsync(1_000);
      record(20);
      appending.resolve(undefined);
      await vi.advanceTimersByTimeAsync(999);
      expect(sizes).toEqual([10]);
      await vi.advanceTimersByTimeAsync(1);
      expect(sizes).toEqual([10, 20]);
      for (let second = 0; second < 10; second += 1) {
        record(1);
        await vi.advanceTimersByTimeAsync(1_000);
      }
      appending.reject(new DomainError("unavailable", "The database cannot be reached."));
      await vi.advanceTimersByTimeAsync(0);
      expect(sizes).toEqual([10, 20]);
      await vi.advanceTimersByTimeAsync(1_000);
      expect(sizes).toEqual([10, 20, 30]);
      appending.resolve(undefined);
      await history.close();
    } finally {
      vi.useRealTimers();
    }
  });

  it("stores the fields of each call unmixed, in order of arrival", async () => {
    const account = await world.createAccount();
    const { id } = await world.connect(account, []);
    const names = ["plain", 'a "quoted" one', "back\\slash", "{braces}, and a comma", "größe 🧰", ""];
    const records = Array.from({ length: 40 }, (_, index) => ({
      ...recordOf(account, id, names[index % names.length]),
      clientId: `client ${index % 2}`,
      outcome: CALL_OUTCOMES[index % CALL_OUTCOMES.length] ?? "ok",
      startedAt: new Date(1_700_000_000_123 + (index % 4)),
      durationMs: index,
      requestBytes: index * 2,
      responseBytes: index * 3,
    }));
    await createCallRecordStore(world.pool).append(records);
    expect(await rowsOf(id)).toMatchObject(
      records.map((record) => ({
        account_id: account,
        tool_name: record.toolName,
        client_id: record.clientId,
        outcome: record.outcome,
        started_at: record.startedAt,
        duration_ms: record.durationMs,
        request_bytes: record.requestBytes,
        response_bytes: record.responseBytes,
      })),
    );
  });

  it("keeps a limited number of records while the database is down and drops further ones", async () => {
    const account = await world.createAccount();
    const { id } = await world.connect(account, []);
    const { store, state } = createSwitchedStore();
    const history = createCallHistory({ store, log, maxWaiting: 10 });
    state.isDown = true;
    for (let count = 0; count < 8; count += 1) history.record(recordOf(account, id, `tool_${count}`));
    await history.flush();
    for (let count = 8; count < 12; count += 1) history.record(recordOf(account, id, `tool_${count}`));
    await history.flush();
    expect(await rowsOf(id)).toHaveLength(0);
    state.isDown = false;
    await history.close();
    expect((await rowsOf(id)).map((row) => row.tool_name)).toEqual(
      Array.from({ length: 10 }, (_, index) => `tool_${index}`),
    );
  });

  it("drops a batch that the database rejects and writes later ones", async () => {
    const account = await world.createAccount();
    const { id } = await world.connect(account, []);
    const history = createCallHistory({ store: createCallRecordStore(world.pool), log });
    history.record(recordOf(account, id, "no\0good"));
    await history.flush();
    history.record(recordOf(account, id));
    await history.close();
    expect(await rowsOf(id)).toHaveLength(1);
  });

  it("drops records of a deleted connection and writes the rest of their batch", async () => {
    const account = await world.createAccount();
    const [gone, stays] = [await world.connect(account, []), await world.connect(account, [])];
    const history = createCallHistory({ store: createCallRecordStore(world.pool), log });
    history.record(recordOf(account, gone.id));
    history.record(recordOf(account, stays.id));
    history.record(recordOf("acc_of_nobody", stays.id));
    await world.store.delete(account, gone.id, OPERATOR);
    await history.close();
    expect(await rowsOf(gone.id)).toHaveLength(0);
    expect(await rowsOf(stays.id)).toHaveLength(1);
  });
});

describe("the size of a JSON value", () => {
  it("is estimated close to the length of its text, at any depth", () => {
    const values = [null, true, false, 0, -12, 1234, "text", [], {}, [1, 2, 3], { a: { b: ["x", null] }, c: -1 }];
    for (const value of values) expect(Math.abs(jsonSize(value) - JSON.stringify(value).length)).toBeLessThanOrEqual(2);
    let deep: ReturnType<typeof Array<never>> | [unknown] = [];
    for (let level = 0; level < 100_000; level += 1) deep = [deep];
    expect(jsonSize(deep as never)).toBeGreaterThan(200_000);
  });
});
