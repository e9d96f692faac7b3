import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import type { CallOutcome, CallRecord } from "../../../src/runtime/calls/call-record.ts";
import { createCallHistoryReader, type CallHistoryReader } from "../../../src/runtime/calls/history-reader.ts";
import { createCallContentsReader } from "../../../src/storage/stores/calls/call-contents.ts";
import { createCallRecordReader } from "../../../src/storage/stores/calls/call-record-reader.ts";
import { createCallRecordStore } from "../../../src/storage/stores/calls/call-record.ts";
import { createWorld, principal, type World } from "../world.ts";

const NOW = Date.parse("2026-07-10T12:00:00Z");

let world: World;
let past: CallHistoryReader;
beforeAll(async () => {
  world = await createWorld();
  past = createCallHistoryReader({
    records: createCallRecordReader(world.orm),
    contents: createCallContentsReader(world.orm, world.sealer),
    connections: world.store,
    now: () => NOW,
  });
});
afterAll(() => world.close());

async function keep(
  accountId: string,
  connectionId: number,
  calls: readonly (readonly [startedAt: string, changes?: Partial<CallRecord>])[],
): Promise<void> {
  await createCallRecordStore(world.pool).append(
    calls.map(([startedAt, changes]) => ({
      accountId,
      connectionId,
      toolName: "echo",
      clientId: "client_1",
      startedAt: new Date(startedAt),
      durationMs: 10,
      outcome: "ok",
      requestBytes: 2,
      responseBytes: 34,
      ...changes,
    })),
  );
}

async function setUp() {
  const account = await world.createAccount();
  return { account, me: principal(account), connection: await world.connect(account, ["echo"]) };
}

describe("the call list", () => {
  it("is sorted newest first and paged without duplicates or gaps, even for equal timestamps", async () => {
    const { account, me, connection } = await setUp();
    const moments = ["2026-07-01T00:00:00Z", "2026-07-02T08:00:00Z", "2026-07-02T08:00:00Z", "2026-07-09T00:00:00Z"];
    await keep(
      account,
      connection.id,
      Array.from({ length: 11 }, (_, index) => [moments[index % 4] ?? "", { toolName: `tool_${index}` }]),
    );
    const listed: string[] = [];
    let cursor: string | undefined;
    do {
      const page = await past.list(me, { limit: 3, cursor });
      expect(page.calls.length).toBeLessThanOrEqual(3);
      listed.push(...page.calls.map(({ startedAt, toolName }) => `${startedAt.toISOString()} ${toolName}`));
      cursor = page.nextCursor;
    } while (cursor !== undefined);
    expect(new Set(listed).size).toBe(11);
    const times = listed.map((line) => line.split(" ")[0]);
    expect(times).toEqual(times.toSorted().reverse());
    expect((await past.list(me, { limit: 11 })).nextCursor).toBeUndefined();
  });

  it("filters by tool, outcome and a time range with an exclusive end", async () => {
    const { account, me, connection } = await setUp();
    const outcomes: CallOutcome[] = ["ok", "tool_error", "upstream_error", "refused", "cancelled"];
    await keep(
      account,
      connection.id,
      outcomes.map((outcome, index) => [`2026-07-0${index + 1}T00:00:00Z`, { outcome, toolName: `tool_${index}` }]),
    );
    const tools = async (query: Parameters<CallHistoryReader["list"]>[1]) =>
      (await past.list(me, query)).calls.map(({ toolName }) => toolName);
    expect(await tools({ tool: "tool_1" })).toEqual(["tool_1"]);
    expect(await tools({ outcome: "upstream_error" })).toEqual(["tool_2"]);
    expect(await tools({ since: new Date("2026-07-02"), until: new Date("2026-07-04") })).toEqual(["tool_2", "tool_1"]);
    expect(await tools({ since: new Date("2026-07-04T02:00:00+02:00") })).toEqual(["tool_4", "tool_3"]);
    expect(await tools({ tool: "tool_1", outcome: "ok" })).toEqual([]);
  });

  it("contains no calls of other accounts, and for a bound token no calls of other connections", async () => {
    const { account, me, connection } = await setUp();
    const other = await world.connect(account, ["echo"]);
    const foreign = await setUp();
    await keep(account, connection.id, [["2026-07-01T00:00:00Z"]]);
    await keep(account, other.id, [["2026-07-01T00:00:00Z"]]);
    await keep(foreign.account, foreign.connection.id, [["2026-07-01T00:00:00Z"]]);
    const seen = async (who: typeof me, serverId?: string) =>
      (await past.list(who, { serverId })).calls.map(({ connectionId }) => connectionId).toSorted((a, b) => a - b);
    expect(await seen(me)).toEqual([connection.id, other.id]);
    expect(await seen(me, String(other.id))).toEqual([other.id]);
    const bound = principal(account, { connectionId: connection.id });
    expect(await seen(bound)).toEqual([connection.id]);
    for (const [who, id] of [
      [me, foreign.connection.id],
      [me, 2_147_483_647],
      [bound, other.id],
    ] as const) {
      await expect(past.list(who, { serverId: String(id) })).rejects.toMatchObject({ kind: "not_found" });
      await expect(past.usage(who, { serverId: String(id) })).rejects.toMatchObject({ kind: "not_found" });
    }
    await expect(past.list(me, { serverId: "1 or 1=1" })).rejects.toMatchObject({ kind: "not_found" });
  });

  it("contains no calls of a deleted connection", async () => {
    const { account, me, connection } = await setUp();
    await keep(account, connection.id, [["2026-07-09T00:00:00Z"]]);
    await world.store.delete(account, connection.id, OPERATOR);
    expect((await past.list(me, {})).calls).toEqual([]);
    expect((await past.usage(me, {})).groups).toEqual([]);
  });

  it.each([
    ["limit", { limit: 0 }],
    ["limit", { limit: 501 }],
    ["outcome", { outcome: "great" }],
    ["cursor", { cursor: "" }],
    ["cursor", { cursor: "after:x" }],
    ["since", { since: new Date("2026-07-02"), until: new Date("2026-07-01") }],
  ])("rejects a wrong %s: %j", async (field, query) => {
    const { me } = await setUp();
    await expect(past.list(me, query)).rejects.toMatchObject({ kind: "invalid", field });
  });
});

describe("call usage", () => {
  it("counts every outcome and measures the latency of sent calls only", async () => {
    const { account, me, connection } = await setUp();
    const sent = Array.from(
      { length: 100 },
      (_, index) => ["2026-07-08T10:00:00Z", { durationMs: index + 1 }] as const,
    );
    const refused = Array.from(
      { length: 100 },
      () => ["2026-07-08T10:00:00Z", { durationMs: 0, outcome: "refused" }] as const,
    );
    await keep(account, connection.id, [
      ...sent.map(
        ([at, call], index) =>
          [at, { ...call, outcome: index < 3 ? "tool_error" : index < 5 ? "upstream_error" : "ok" }] as const,
      ),
      ...refused,
    ]);
    const { groups, hasMore } = await past.usage(me, {});
    expect(groups).toEqual([
      {
        connectionId: connection.id,
        toolName: "echo",
        day: "2026-07-08",
        calls: 200,
        outcomes: { ok: 95, tool_error: 3, upstream_error: 2, refused: 100, cancelled: 0 },
        latencyMs: { p50: 50, p95: 95, p99: 99 },
      },
    ]);
    expect(hasMore).toBe(false);
  });

  it("is grouped by the requested keys, with days in UTC", async () => {
    const { account, me, connection } = await setUp();
    await keep(account, connection.id, [
      ["2026-07-08T23:59:59.999Z"],
      ["2026-07-09T00:00:00Z", { toolName: "other" }],
      ["2026-07-09T01:00:00Z", { outcome: "refused" }],
    ]);
    const shape = async (groupBy: string) =>
      (await past.usage(me, { groupBy })).groups.map(({ day, connectionId, toolName, calls }) => ({
        ...(day !== undefined && { day }),
        ...(connectionId !== undefined && { connectionId }),
        ...(toolName !== undefined && { toolName }),
        calls,
      }));
    expect(await shape("day")).toEqual([
      { day: "2026-07-08", calls: 1 },
      { day: "2026-07-09", calls: 2 },
    ]);
    expect(await shape("tool, connection")).toEqual([
      { connectionId: connection.id, toolName: "echo", calls: 2 },
      { connectionId: connection.id, toolName: "other", calls: 1 },
    ]);
    await expect(past.usage(me, { groupBy: "tool,tool" })).rejects.toMatchObject({
      kind: "invalid",
      field: "group_by",
    });
    await expect(past.usage(me, { groupBy: "" })).rejects.toMatchObject({ kind: "invalid", field: "group_by" });
  });

  it("covers 7 days by default and at most 31", async () => {
    const { account, me, connection } = await setUp();
    await keep(account, connection.id, [["2026-07-03T11:59:59Z"], ["2026-07-03T12:00:00Z"], ["2026-07-10T12:00:00Z"]]);
    expect((await past.usage(me, { groupBy: "tool" })).groups).toMatchObject([{ calls: 1 }]);
    expect(
      (await past.usage(me, { groupBy: "tool", since: new Date("2026-06-10"), until: new Date("2026-07-11") })).groups,
    ).toMatchObject([{ calls: 3 }]);
    await expect(
      past.usage(me, { since: new Date("2026-06-09"), until: new Date("2026-07-11") }),
    ).rejects.toMatchObject({ kind: "invalid" });
    await expect(past.usage(me, { since: new Date("2026-07-11") })).rejects.toMatchObject({
      kind: "invalid",
      field: "since",
    });
  });

  it("returns the 1,000 groups with the most calls and whether there are more", async () => {
    const { account, me, connection } = await setUp();
    const tools = Array.from({ length: 1_001 }, (_, index) => `tool_${index}`);
    await keep(
      account,
      connection.id,
      tools.map((toolName) => ["2026-07-08T10:00:00Z", { toolName }] as const),
    );
    await keep(
      account,
      connection.id,
      tools.slice(1).map((toolName) => ["2026-07-08T11:00:00Z", { toolName }] as const),
    );
    const { groups, hasMore } = await past.usage(me, {});
    expect(groups).toHaveLength(1_000);
    expect(hasMore).toBe(true);
    expect(groups.every(({ calls }) => calls === 2)).toBe(true);
  });
});
