import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import { type CallResult, errorResult } from "../../../src/integrations/tool.ts";
import { parseJson, type JsonObject } from "../../../src/json.ts";
import { callTimesOf } from "../../../src/runtime/calls/call-times.ts";
import {
  createWorld,
  eventually,
  principal,
  type ReceivedCall,
  textOf,
  type ThirdParty,
  type World,
} from "../world.ts";

const TIMEOUT_MS = 300;
const MAX_IN_FLIGHT = 3;

let world: World;
let answerAtFirst: ThirdParty["answer"];
beforeAll(async () => {
  world = await createWorld({ times: { idleMs: TIMEOUT_MS }, maxInFlight: MAX_IN_FLIGHT });
  answerAtFirst = world.party.answer;
});
afterAll(() => world.close());
beforeEach(() => {
  world.party.answer = answerAtFirst;
  world.party.received.length = 0;
});

async function setUp(tools: readonly string[] = ["echo"]) {
  const account = await world.createAccount();
  const connection = await world.connect(account, tools);
  const me = principal(account);
  return { account, connection, me, session: await world.open(me) };
}

/** Returns the recorded outcomes of a connection, oldest first. */
async function outcomes(connectionId: number): Promise<string[]> {
  await world.history.flush();
  const { rows } = await world.pool.query<{ outcome: string }>(
    "select outcome from call_record where connection_id = $1 order by id",
    [connectionId],
  );
  return rows.map(({ outcome }) => outcome);
}

describe("a tool call", () => {
  it("reports failures of the upstream and of the tool as different outcomes", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => Promise.resolve(errorResult("The tool says no."));
    await world.call(me, session, "echo");
    world.party.answer = () => Promise.resolve(errorResult("Acme answered 500.", "down"));
    await world.call(me, session, "echo");
    expect(await outcomes(connection.id)).toEqual(["tool_error", "upstream_error"]);
  });

  it("passes arguments and result on unchanged", async () => {
    const { me, session, connection } = await setUp();
    const result = {
      content: [
        { type: "image", data: "aGk=", mimeType: "image/png" },
        { type: "text", text: "é\u0000" },
      ],
      structuredContent: { b: 1, a: [null, { c: true }] },
      isError: false,
    };
    world.party.answer = () => Promise.resolve(result);
    const args = { text: "hi", more: [1, { deep: null }] };
    expect(await world.runtime.callTool(me, session, "echo", args, {})).toBe(result);
    expect(world.party.received[0]).toMatchObject({ connectionId: connection.id, tool: "echo", args });
    expect(await outcomes(connection.id)).toEqual(["ok"]);
  });

  it("passes on every digit of integers beyond 2^53", async () => {
    const { me, session } = await setUp();
    const args = parseJson('{"count": 9007199254740993, "text": "x"}', { maxDepth: 32 }) as JsonObject;
    await world.runtime.callTool(me, session, "echo", args, {});
    expect(JSON.stringify(world.party.received[0]?.args)).toContain("9007199254740993");
  });

  it("sends no database query when repeated", async () => {
    const { me, session } = await setUp();
    const queries = vi.spyOn(world.pool, "query");
    // The first tool list is announced to all replicas, which read it again.
    await eventually(async () => {
      queries.mockClear();
      for (let calls = 0; calls < 50; calls += 1) await world.call(me, session, "echo");
      return queries.mock.calls.length === 0;
    });
    queries.mockRestore();
  });

  it("is rejected as invalid without a name and as not_found for an unknown tool", async () => {
    const { me, session } = await setUp();
    await expect(world.call(me, session, "")).rejects.toMatchObject({ kind: "invalid", field: "name" });
    for (const name of ["nope", "echo__999", "__proto__", "constructor", "\u0000", "n".repeat(5_000)]) {
      await expect(world.call(me, session, name)).rejects.toMatchObject({ kind: "not_found" });
    }
    await expect(world.call(me, session, "n".repeat(5_000))).rejects.toThrow(
      `Unknown tool "${"n".repeat(64)}". List the tools of this session to see which can be called.`,
    );
  });

  it("with arguments that violate the schema returns the problem and sends nothing", async () => {
    const { me, session, connection } = await setUp();
    const answer = await world.call(me, session, "echo", { text: 5 });
    expect(answer).toMatch(/^error: The arguments do not fit the tool's schema\. .*text/);
    expect(world.party.received).toEqual([]);
    expect(await outcomes(connection.id)).toEqual(["refused"]);
  });

  it("through a pending or failed connection returns the reason and sends nothing", async () => {
    const { me, session, account, connection } = await setUp();
    let current = await world.store.find(account, connection.id);
    if (current === undefined) throw new Error("no connection");
    current = await world.change(current, {
      verificationStatus: "pending",
      statusReason: "Acme answered with status 503.",
    });
    expect(await world.call(me, session, "echo")).toMatch(/^error: .*verified.*Acme answered with status 503\./);
    current = await world.change(current, { verificationStatus: "pending", statusReason: undefined });
    expect(await world.call(me, session, "echo")).toMatch(/^error: .*still being verified/);
    await world.change(current, { verificationStatus: "failed", statusReason: "Acme refused the key." });
    expect(await world.call(me, session, "echo")).toMatch(
      /^error: .*failed verification\. Acme refused the key\..*new key/,
    );
    expect(world.party.received).toEqual([]);
    expect(await world.names(me, session)).toEqual(["echo"]);
  });

  it("that fails in the tool returns a result and is recorded as tool_error", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () =>
      Promise.resolve({ content: [{ type: "text", text: "no such employee" }], isError: true });
    expect(await world.call(me, session, "echo")).toBe("error: no such employee");
    expect(await outcomes(connection.id)).toEqual(["tool_error"]);
  });

  it("that fails in the integration throws an internal error without details of the cause", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => Promise.reject(new Error("canary-cause"));
    const error: unknown = await world.call(me, session, "echo").catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ kind: "internal", cause: { message: "canary-cause" } });
    expect(String(error)).not.toContain("canary");
    expect(await outcomes(connection.id)).toEqual(["upstream_error"]);
  });

  it("ends at the deadline and aborts the upstream request", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => new Promise(() => undefined);
    expect(await world.call(me, session, "echo")).toMatch(/^error: .*did not answer within 0\.3 seconds/);
    expect(world.party.received[0]?.signal.aborted).toBe(true);
    expect(await outcomes(connection.id)).toEqual(["upstream_error"]);
  });

  it("goes on while the upstream reports progress, and ends at the limit for a whole call", async () => {
    const { me, session, connection } = await setUp();
    let timer: NodeJS.Timeout | undefined;
    let reports = 0;
    const report = (call: ReceivedCall, until: number, resolve: (result: CallResult) => void): void => {
      timer = setInterval(() => {
        reports += 1;
        void call.onProgress?.({ progress: reports });
        if (reports < until) return;
        clearInterval(timer);
        resolve({ content: [{ type: "text", text: "done" }], isError: false });
      }, TIMEOUT_MS / 6);
    };
    world.party.answer = (call) => new Promise((resolve) => report(call, 12, resolve));
    expect(await world.call(me, session, "echo")).toBe("done");

    world.party.answer = (call) => new Promise((resolve) => report(call, Infinity, resolve));
    await world.change(connection, { callMaxSeconds: 1 });
    expect(await world.call(me, session, "echo")).toMatch(
      /^error: .*within 1 seconds, which is the limit for a whole call/,
    );
    clearInterval(timer);
  });

  it("has the limits of its connection, within the operator's limit for a whole call", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => new Promise(() => undefined);
    await world.change(connection, { callIdleSeconds: 1 });
    expect(await world.call(me, session, "echo")).toMatch(/^error: .*did not answer within 1 seconds/);
    const times = { idleMs: 300, maxMs: 5_000 };
    expect(callTimesOf({ callIdleSeconds: 10, callMaxSeconds: 0 }, times)).toEqual({ idleMs: 5_000, maxMs: 5_000 });
    expect(callTimesOf({ callIdleSeconds: 0, callMaxSeconds: 10 }, times)).toEqual({ idleMs: 300, maxMs: 5_000 });
    expect(callTimesOf({ callIdleSeconds: 0, callMaxSeconds: 0 }, times)).toBe(times);
  });

  it("ends with a clear error when the service stops, and so does a later call", async () => {
    const { me, session } = await setUp();
    const other = await world.createReplica();
    world.party.answer = () => new Promise(() => undefined);
    const running = other.runtime.callTool(me, session, "echo", {}, {});
    await eventually(() => world.party.received.length === 1);
    other.running.stop();
    await expect(running).rejects.toMatchObject({
      kind: "unavailable",
      message: expect.stringContaining("is stopping"),
    });
    await expect(other.runtime.callTool(me, session, "echo", {}, {})).rejects.toThrow("is stopping");
    expect(world.party.received).toHaveLength(1);
  });

  it("ends when the caller disconnects and aborts the upstream request", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => new Promise(() => undefined);
    const caller = new AbortController();
    const calling = world.runtime.callTool(me, session, "echo", {}, { signal: caller.signal });
    await eventually(() => world.party.received.length === 1);
    caller.abort(new Error("gone"));
    await expect(calling).rejects.toThrow("gone");
    expect(world.party.received[0]?.signal.aborted).toBe(true);
    const tooLate = world.runtime.callTool(me, session, "echo", {}, { signal: caller.signal });
    await expect(tooLate).rejects.toThrow("gone");
    expect(world.party.received).toHaveLength(1);
    expect(await outcomes(connection.id)).toEqual(["cancelled", "cancelled"]);
  });

  it("is rejected when its connection has too many running calls, while other connections work", async () => {
    const { me, session, account, connection } = await setUp(["echo"]);
    const other = await world.connect(account, ["get_other"]);
    const finish: (() => void)[] = [];
    world.party.answer = (call) => {
      if (call.connectionId !== connection.id) return answerAtFirst(call);
      return new Promise((resolve) => {
        finish.push(() => resolve(answerAtFirst(call)));
      });
    };
    const slow = Array.from({ length: MAX_IN_FLIGHT }, () => world.call(me, session, "echo"));
    await eventually(() => world.party.received.length === MAX_IN_FLIGHT);
    expect(await world.call(me, session, "echo")).toMatch(/^error: Too many calls are in flight/);
    expect(await world.call(me, session, "get_other")).toBe(`get_other of ${other.id}`);
    for (const one of finish) one();
    expect(await Promise.all(slow)).toEqual(slow.map(() => `echo of ${connection.id}`));
    world.party.answer = answerAtFirst;
    expect(await world.call(me, session, "echo")).toBe(`echo of ${connection.id}`);
  });

  it("stores the called connection in the session before sending", async () => {
    const { me, session, connection } = await setUp();
    let remembered: number[] | undefined;
    world.party.answer = async (call) => {
      const { rows } = await world.pool.query<{ called: number[] }>(
        "select called_connection_ids as called from session where id = $1",
        [session],
      );
      remembered = rows[0]?.called;
      return answerAtFirst(call);
    };
    await world.call(me, session, "echo");
    expect(remembered).toEqual([connection.id]);
  });

  it("returns not_found when the connection was deleted meanwhile", async () => {
    const { me, session, account, connection } = await setUp();
    await world.store.delete(account, connection.id, OPERATOR);
    await eventually(async () => (await world.view.ofAccount(account)).length === 0);
    await expect(world.call(me, session, "echo")).rejects.toMatchObject({ kind: "not_found" });
    expect(world.party.received).toEqual([]);
  });

  it("names the connection in the error when the upstream cannot be reached", async () => {
    const { me, session, connection } = await setUp();
    world.party.answer = () => new Promise(() => undefined);
    const result = await world.runtime.callTool(me, session, `echo__${connection.id}`, {}, {});
    expect(textOf(result)).toContain(`"${connection.name}"`);
  });
});
