import { randomBytes } from "node:crypto";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import type { Connection } from "../../../src/connections/connection.ts";
import { DomainError } from "../../../src/domain-error.ts";
import { createScrubber } from "../../../src/integrations/scrub.ts";
import { parseJson, type JsonObject } from "../../../src/json.ts";
import {
  prepareContents,
  MAX_KEPT_CHARACTERS,
  parseContents,
  printContents,
} from "../../../src/runtime/calls/call-contents.ts";
import { createContentsRecorder } from "../../../src/runtime/calls/contents-recorder.ts";
import { CUT_MARK } from "../../../src/runtime/calls/cut-json.ts";
import { createCallHistoryReader, type CallHistoryReader } from "../../../src/runtime/calls/history-reader.ts";
import { SealError } from "../../../src/storage/sealing.ts";
import { createCallContentsReader, createCallContentsStore } from "../../../src/storage/stores/calls/call-contents.ts";
import { createCallRecordReader } from "../../../src/storage/stores/calls/call-record-reader.ts";
import { createPurge } from "../../../src/storage/stores/connections/purge.ts";
import { createWorld, eventually, principal, type World } from "../world.ts";

const CANARY = "canary-of-what-was-said";

let world: World;
let past: CallHistoryReader;
beforeAll(async () => {
  world = await createWorld();
  past = createCallHistoryReader({
    records: createCallRecordReader(world.orm),
    contents: createCallContentsReader(world.orm, world.sealer),
    connections: world.store,
  });
});
afterAll(() => world.close());

/** Creates a connection that stores contents for some days, and a principal that may call and read it. */
async function keeping(days: number): Promise<{ connection: Connection; who: ReturnType<typeof principal> }> {
  const account = await world.createAccount();
  const connection = await world.change(await world.connect(account, ["echo"]), { keepContentsDays: days });
  return { connection, who: principal(account, { scopes: ["mcp.write", "mgmt.read"] }) };
}

async function say(who: ReturnType<typeof principal>, text: string, replica: Pick<World, "runtime"> = world) {
  const session = await world.open(who);
  return replica.runtime.callTool(who, session, "echo", { text }, {});
}

async function flush(): Promise<void> {
  await world.contents.flush();
  await world.history.flush();
}

async function readLast(who: ReturnType<typeof principal>, connection: Connection) {
  const { calls } = await past.list(who, {});
  return past.get(who, String(connection.id), String(calls[0]?.id));
}

async function rowsOf(connection: Connection): Promise<Record<string, unknown>[]> {
  const { rows } = await world.pool.query<Record<string, unknown>>(
    "select * from call_contents where connection_id = $1 order by call_id",
    [connection.id],
  );
  return rows;
}

describe("stored call contents", () => {
  it("are stored only if the owner enabled it", async () => {
    const { connection, who } = await keeping(0);
    await say(who, CANARY);
    await flush();
    const { calls } = await past.list(who, {});
    expect(calls).toMatchObject([{ toolName: "echo", areContentsKept: false }]);
    expect(await rowsOf(connection)).toEqual([]);
    await expect(readLast(who, connection)).rejects.toThrow(`The contents of call ${calls[0]?.id} are not stored.`);
  });

  it("return the original payloads and can be decrypted only for their own call", async () => {
    const { connection, who } = await keeping(7);
    world.party.answer = ({ args }) =>
      Promise.resolve({ content: [{ type: "text", text: `heard ${String(args.text)}` }], isError: false });
    await say(who, CANARY);
    await say(who, "another");
    await flush();
    const { calls } = await past.list(who, {});
    expect(calls.map(({ areContentsKept }) => areContentsKept)).toEqual([true, true]);
    const first = await past.get(who, String(connection.id), String(calls[1]?.id));
    expect(first.contents).toEqual({
      args: { text: CANARY },
      areArgsCut: false,
      result: { content: [{ type: "text", text: `heard ${CANARY}` }], isError: false },
      isResultCut: false,
    });
    expect(first.keptUntil.getTime() - first.call.startedAt.getTime()).toBe(7 * 86_400_000);

    const { rows } = await world.pool.query<{ row: string }>(
      "select call_contents::text || encode(sealed, 'escape') as row from call_contents union all select call_record::text from call_record",
    );
    expect(rows.length).toBeGreaterThan(1);
    for (const { row } of rows) expect(row).not.toContain("canary");
    // The contents cannot be decrypted for another call.
    await world.pool.query(
      "update call_contents set sealed = (select sealed from call_contents where call_id = $1) where call_id = $2",
      [calls[1]?.id, calls[0]?.id],
    );
    await expect(past.get(who, String(connection.id), String(calls[0]?.id))).rejects.toThrow(SealError);
  });

  it("are returned neither to other accounts, nor for other connections, nor to tokens without access to the connection", async () => {
    const { connection, who } = await keeping(7);
    await say(who, CANARY);
    await flush();
    const { call } = await readLast(who, connection);
    const other = await keeping(7);
    const id = String(connection.id);
    await expect(past.get(other.who, id, String(call.id))).rejects.toThrow("not found or not accessible");
    await expect(past.get(other.who, String(other.connection.id), String(call.id))).rejects.toThrow("are not stored");
    const chosen = principal(who.accountId, { connectionIds: new Set([other.connection.id]) });
    await expect(past.get(chosen, id, String(call.id))).rejects.toThrow("not found or not accessible");
  });

  it("contain no secret of the connection in any field", async () => {
    const { connection, who } = await keeping(7);
    const secret = (await world.view.target(connection)).configuration.api_token;
    world.party.answer = () =>
      Promise.resolve({
        content: [{ type: "text", text: `the ${String(secret)} was sent` }],
        isError: false,
        structuredContent: { [`key ${String(secret)}`]: [String(secret)] },
      });
    await say(who, `with ${String(secret)}`);
    await flush();
    const { contents } = await readLast(who, connection);
    expect(JSON.stringify(contents)).not.toContain(String(secret));
    expect(contents.args).toEqual({ text: "with [redacted]" });
    expect(contents.result?.structuredContent).toEqual({ "key [redacted]": ["[redacted]"] });
  });

  it("become unreadable when the owner disables storing, even if it is enabled again, and are purged", async () => {
    const { connection, who } = await keeping(7);
    await say(who, CANARY);
    await flush();
    const { call } = await readLast(who, connection);
    const off = await world.change(connection, { keepContentsDays: 0 });
    await expect(readLast(who, connection)).rejects.toThrow("are not stored");
    await world.change(off, { keepContentsDays: 30 });
    await expect(past.get(who, String(connection.id), String(call.id))).rejects.toThrow("are not stored");
    await createPurge(world.pool).contents(who.accountId, connection.id);
    expect(await rowsOf(connection)).toEqual([]);
    await say(who, "again");
    await flush();
    expect((await readLast(who, connection)).contents.args).toEqual({ text: "again" });
    await createPurge(world.pool).contents(who.accountId, connection.id);
    expect(await rowsOf(connection)).toHaveLength(1);
  });

  it("are purged after the retention period, also after the period was shortened", async () => {
    const { connection, who } = await keeping(7);
    for (const text of ["four days ago", "today", "eight days ago"]) await say(who, text);
    await flush();
    const ids = (await past.list(who, {})).calls.map(({ id }) => id).toReversed();
    for (const [index, days] of [
      [0, 4],
      [2, 8],
    ] as const) {
      await world.pool.query(
        `update call_contents set started_at = started_at - make_interval(days => $2), kept_until = kept_until - make_interval(days => $2)
         where call_id = $1`,
        [ids[index], days],
      );
    }
    await world.pool.query("update connection set keep_contents_since = now() - interval '20 days' where id = $1", [
      connection.id,
    ]);
    const purge = createPurge(world.pool);
    await purge.expired();
    expect((await rowsOf(connection)).map((row) => row.call_id)).toEqual(ids.slice(0, 2));
    await world.change(connection, { keepContentsDays: 3 });
    await purge.contents(who.accountId, connection.id);
    expect((await rowsOf(connection)).map((row) => row.call_id)).toEqual([ids[1]]);
  });

  it("are deleted with the connection and not written afterwards", async () => {
    const { connection, who } = await keeping(7);
    await say(who, "before");
    await flush();
    const { call } = await readLast(who, connection);
    await say(who, "meanwhile");
    await world.store.delete(who.accountId, connection.id, OPERATOR);
    await expect(past.get(who, String(connection.id), String(call.id))).rejects.toThrow("not found");
    await createPurge(world.pool).connection(who.accountId, connection.id);
    await flush();
    expect(await rowsOf(connection)).toEqual([]);
  });

  it("are stored by every replica once enabled, and by none once disabled, even if a replica has not read the change", async () => {
    const other = await world.createReplica();
    const { connection, who } = await keeping(7);
    const knows = async (days: number) =>
      (await other.view.ofAccount(who.accountId)).some((one) => one.keepContentsDays === days);
    await eventually(() => knows(7));
    await say(who, CANARY, other);
    await other.contents.flush();
    expect((await readLast(who, connection)).contents.args).toEqual({ text: CANARY });
    // This replica has not read the change, so it writes the contents after they were disabled.
    await say(who, "too late", other);
    await world.change(await current(connection), { keepContentsDays: 0 });
    await other.contents.flush();
    await createPurge(world.pool).contents(who.accountId, connection.id);
    expect(await rowsOf(connection)).toEqual([]);
    expect((await past.list(who, {})).calls).toHaveLength(2);
  });

  it("wait for an unavailable database up to a limit, beyond which the call is recorded without contents", async () => {
    const { connection, who } = await keeping(7);
    const store = createCallContentsStore({ orm: world.orm, sealer: world.sealer, historyDays: 30 });
    let isDown = true;
    const keeper = createContentsRecorder({
      connections: world.view,
      catalog: world.catalog,
      store: {
        append: (records) =>
          isDown ? Promise.reject(new DomainError("unavailable", "The database is away.")) : store.append(records),
      },
      history: world.history,
      log: pino({ level: "silent" }),
      maxWaitingCharacters: 2_500,
    });
    const record = {
      ...{ accountId: who.accountId, connectionId: connection.id, toolName: "echo", clientId: "client_1" },
      ...({ startedAt: new Date(), durationMs: 1, outcome: "ok", requestBytes: 2, responseBytes: 0 } as const),
    };
    for (let count = 0; count < 3; count += 1)
      keeper.record(connection, record, { args: { count }, result: undefined });
    await keeper.flush();
    await world.history.flush();
    expect((await past.list(who, {})).calls).toMatchObject([{ areContentsKept: false }]);
    isDown = false;
    await keeper.close();
    expect((await past.list(who, {})).calls).toHaveLength(3);
    expect(await rowsOf(connection)).toHaveLength(2);
  });

  it("are not returned after the history retention of the installation", async () => {
    const { connection, who } = await keeping(30);
    const store = createCallContentsStore({ orm: world.orm, sealer: world.sealer, historyDays: 2 });
    const startedAt = new Date();
    await store.append([
      {
        ...{ accountId: who.accountId, connectionId: connection.id, toolName: "echo", clientId: "client_1" },
        ...{ startedAt, durationMs: 1, outcome: "ok", requestBytes: 2, responseBytes: 0 },
        contents: printContents({ args: {}, areArgsCut: false, result: undefined, isResultCut: false }),
      },
    ]);
    expect((await readLast(who, connection)).keptUntil.getTime()).toBe(startedAt.getTime() + 2 * 86_400_000);
  });
});

async function current({ accountId, id }: Connection): Promise<Connection> {
  const found = await world.store.find(accountId, id);
  if (found === undefined) throw new Error("the connection is gone");
  return found;
}

describe("prepared call contents", () => {
  const none = createScrubber({}, [], []);
  const text = (value: string): JsonObject => ({ type: "text", text: value });

  it("keep every digit of numbers when stored", () => {
    const args = parseJson('{"big":12345678901234567890,"deep":[{"a":null,"b":[1.5,true,"x"]}]}', { maxDepth: 9 });
    const printed = printContents(prepareContents(args as JsonObject, { content: [text("é")], isError: true }, none));
    expect(printed).toContain("12345678901234567890");
    expect(printContents(parseContents(printed))).toBe(printed);
  });

  it("are shortened and marked for every way of being too large", () => {
    const long = "x".repeat(200_000);
    const many = Array.from({ length: 100_000 }, (_, index) => index);
    const keys = Object.fromEntries(many.map((index) => [`key ${index}`, index]));
    for (const value of [long, many, keys, [long, long]]) {
      const { args, areArgsCut } = prepareContents({ value }, undefined, none);
      expect(areArgsCut).toBe(true);
      const size = JSON.stringify(args).length;
      expect(size).toBeGreaterThan(MAX_KEPT_CHARACTERS / 2);
      expect(size).toBeLessThan(MAX_KEPT_CHARACTERS + 1_000);
    }
    const { result, isResultCut } = prepareContents({}, { content: [text(long), text("after")], isError: false }, none);
    expect(isResultCut).toBe(true);
    expect(result?.content).toHaveLength(1);
    expect(String(result?.content[0]?.["text"]).endsWith(`x${CUT_MARK}`)).toBe(true);
  });

  it("do not overflow the stack for deeply nested values", () => {
    let deep: JsonObject = {};
    for (let level = 0; level < 50_000; level += 1) deep = { deep };
    const { areArgsCut, args } = prepareContents(deep, undefined, none);
    expect(areArgsCut).toBe(true);
    expect(JSON.stringify(args).length).toBeLessThan(1_000);
  });

  it("contain no part of a secret at the point of shortening", () => {
    const secret = randomBytes(2_000).toString("hex");
    const scrubber = createScrubber({ api_token: secret }, ["api_token"], []);
    for (const before of [MAX_KEPT_CHARACTERS - 100, MAX_KEPT_CHARACTERS + 131_072 - 100, 10]) {
      const value = "x".repeat(before) + secret + secret + "y".repeat(300_000);
      const printed = printContents(prepareContents({ value }, undefined, scrubber));
      for (let at = 0; at + 16 <= secret.length; at += 16) expect(printed).not.toContain(secret.slice(at, at + 16));
    }
  });

  it("replace an image that is too large or contains a secret by a note", () => {
    const scrubber = createScrubber({ api_token: "a-secret-token" }, ["api_token"], []);
    const image = (bytes: Buffer) => ({ type: "image", mimeType: "image/png", data: bytes.toString("base64") });
    const kept = (bytes: Buffer) => prepareContents({}, { content: [image(bytes)], isError: false }, scrubber);
    const small = randomBytes(1_000);
    expect(kept(small).result?.content).toEqual([image(small)]);
    expect(kept(randomBytes(120 * 1024))).toMatchObject({
      isResultCut: true,
      result: { content: [text("[image of 120 kB, not kept]")] },
    });
    const spoilt = Buffer.concat([small, Buffer.from("a-secret-token"), small]);
    expect(kept(spoilt).result?.content).toEqual([text("[image of 2 kB, not kept]")]);
  });
});
