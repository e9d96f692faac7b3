import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { OPERATOR } from "../../../src/identity/actor.ts";
import { createAccountStore } from "../../../src/storage/stores/identity/account.ts";
import { createClientStore } from "../../../src/storage/stores/identity/client.ts";
import { createPersonalAccessTokenStore } from "../../../src/storage/stores/identity/personal-access-token.ts";
import { createWorld, principal, type World } from "../world.ts";

const HAS_ENDED = { kind: "not_found", message: "Session not found or has ended. Open a new one with initialize." };
/** The longest time that another replica may use an ended session, in milliseconds. */
const SECOND = 1_000;

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());

/** Replaces the clocks of this process by one that the test advances. */
function startClock(): { pass(ms: number): void } {
  const now = performance.now.bind(performance);
  let passed = 0;
  const spy = vi.spyOn(performance, "now").mockImplementation(() => now() + passed);
  onTestFinished(() => spy.mockRestore());
  return { pass: (ms) => void (passed += ms) };
}

async function stored(accountId: string): Promise<number> {
  const { rows } = await world.pool.query<{ count: number }>(
    "select count(*)::integer as count from session where account_id = $1",
    [accountId],
  );
  return rows[0]?.count ?? -1;
}

describe("an MCP session", () => {
  it("opens with a random id, the server info and the capabilities", async () => {
    const me = principal(await world.createAccount());
    const introduction = { protocolVersion: "2025-03-26", clientInfo: { name: "c", version: "1" } };
    const opened = await world.runtime.initialize(me, introduction);
    expect(Buffer.from(opened.sessionId, "base64url").length).toBeGreaterThanOrEqual(16);
    expect(opened).toMatchObject({
      protocolVersion: "2025-03-26",
      capabilities: { tools: { listChanged: false } },
      serverInfo: { name: "patchbay", version: "0.0.0" },
    });
  });

  it.each([
    ["2024-11-05", "2024-11-05"],
    ["2025-11-25", "2025-11-25"],
    ["", "2025-11-25"],
    ["1999-01-01", "2025-11-25"],
    ["2026-07-28", "2025-11-25"],
  ])("negotiates revision %j to %s", async (protocolVersion, spoken) => {
    const me = principal(await world.createAccount());
    const opened = await world.runtime.initialize(me, { protocolVersion, clientInfo: { name: "", version: "" } });
    expect(opened.protocolVersion).toBe(spoken);
  });

  it.each([
    ["clientInfo.name", { name: "n".repeat(256), version: "1" }],
    ["clientInfo.version", { name: "n", version: "1".repeat(256) }],
    ["clientInfo.name", { name: "n\0", version: "1" }],
    ["clientInfo.name", { name: "\ud800", version: "1" }],
  ])("is rejected for a client whose %s exceeds the limits", async (field, clientInfo) => {
    const me = principal(await world.createAccount());
    const opening = world.runtime.initialize(me, { protocolVersion: "2025-06-18", clientInfo });
    await expect(opening).rejects.toMatchObject({ kind: "invalid", field });
  });

  it("is rejected for a disabled account", async () => {
    const account = await world.createAccount();
    await world.pool.query("update account set disabled_at = now() where id = $1", [account]);
    await expect(world.open(principal(account))).rejects.toMatchObject({ kind: "unauthenticated" });
  });

  it.each([undefined, null, ""])("requires a session id (%j)", async (id) => {
    const me = principal(await world.createAccount());
    await expect(world.runtime.listTools(me, id, undefined)).rejects.toMatchObject({
      kind: "invalid",
      message: expect.stringContaining("The X-Session-ID header is required") as string,
    });
  });

  it.each(["unknown", "x".repeat(32), "' or 1=1 --", "\u00e9".repeat(32), "x".repeat(10_000)])(
    "is not found for an unknown id (%j)",
    async (id) => {
      const me = principal(await world.createAccount());
      await expect(world.runtime.listTools(me, id, undefined)).rejects.toMatchObject(HAS_ENDED);
      await expect(world.call(me, id, "echo")).rejects.toMatchObject(HAS_ENDED);
    },
  );

  it("is usable only with its own account, client and binding, and survives foreign requests", async () => {
    const account = await world.createAccount();
    const connection = await world.connect(account, ["echo"]);
    const me = principal(account);
    const session = await world.open(me);
    const strangers = [
      principal(await world.createAccount()),
      principal(account, { clientId: "client_2" }),
      principal(account, { connectionId: connection.id }),
    ];
    for (const stranger of strangers) {
      await expect(world.call(stranger, session, "echo")).rejects.toMatchObject(HAS_ENDED);
      await expect(world.sessions.end(stranger, session)).rejects.toMatchObject(HAS_ENDED);
    }
    expect(await world.call(me, session, "echo")).toBe(`echo of ${connection.id}`);
  });

  it("is usable with every token of its client, within the scopes of that token", async () => {
    const account = await world.createAccount();
    await world.connect(account, ["get_a", "set_a"]);
    const session = await world.open(principal(account));
    const narrow = principal(account, { tokenId: "token_2", scopes: ["mcp.read"] });
    expect(await world.names(narrow, session)).toEqual(["get_a"]);
  });

  it("that was opened on one replica works on another", async () => {
    const account = await world.createAccount();
    const connection = await world.connect(account, ["echo"]);
    const me = principal(account);
    const session = await world.open(me);
    const { runtime } = await world.createReplica();
    const result = await runtime.callTool(me, session, "echo", {}, {});
    expect(result.content).toEqual([{ type: "text", text: `echo of ${connection.id}` }]);
  });

  it("that ends during a background read is rejected immediately", async () => {
    const clock = startClock();
    const me = principal(await world.createAccount());
    const session = await world.open(me);
    // Old enough for a background read, but not stale.
    clock.pass(600);
    void world.sessions.require(me, session);
    await world.sessions.end(me, session);
    await expect(world.runtime.listTools(me, session, undefined)).rejects.toMatchObject(HAS_ENDED);
  });

  it("that its client ended is rejected immediately on this replica and within a second on others", async () => {
    const me = principal(await world.createAccount());
    const session = await world.open(me);
    const { runtime, sessions } = await world.createReplica();
    const clock = startClock();
    await runtime.listTools(me, session, undefined);
    await world.sessions.end(me, session);
    await expect(world.runtime.listTools(me, session, undefined)).rejects.toMatchObject(HAS_ENDED);
    clock.pass(SECOND);
    await expect(runtime.listTools(me, session, undefined)).rejects.toMatchObject(HAS_ENDED);
    await expect(sessions.end(me, session)).rejects.toMatchObject(HAS_ENDED);
  });

  it("in constant use is rejected within a second of its end", async () => {
    const me = principal(await world.createAccount());
    const session = await world.open(me);
    await world.pool.query("delete from session where id = $1", [session]);
    let served = true;
    const clock = startClock();
    for (let passed = 0; passed < SECOND; passed += 20) {
      clock.pass(20);
      served = await world.names(me, session).then(
        () => true,
        () => false,
      );
    }
    expect(served).toBe(false);
  });

  it("ends with a connection that it called, while other sessions of the account continue", async () => {
    const account = await world.createAccount();
    const [a, b] = [await world.connect(account, ["get_a"]), await world.connect(account, ["get_b"])];
    const me = principal(account);
    const [calledA, calledB, listed] = [await world.open(me), await world.open(me), await world.open(me)];
    await world.call(me, calledA, "get_a");
    await world.call(me, calledB, "get_b");
    await world.names(me, listed);
    await world.store.delete(account, a.id, OPERATOR);
    world.sessions.invalidateAccount(account);
    await expect(world.call(me, calledA, "get_b")).rejects.toMatchObject(HAS_ENDED);
    expect(await world.call(me, calledB, "get_b")).toBe(`get_b of ${b.id}`);
    await expect.poll(() => world.names(me, listed)).toEqual(["get_b"]);
  });

  it("ends with the connection that it is bound to", async () => {
    const account = await world.createAccount();
    const connection = await world.connect(account, ["echo"]);
    const bound = principal(account, { connectionId: connection.id });
    const session = await world.open(bound);
    expect(await world.names(bound, session)).toEqual(["echo"]);
    expect(await world.call(bound, session, "echo")).toBe(`echo of ${connection.id}`);
    await world.store.delete(account, connection.id, OPERATOR);
    world.sessions.invalidateAccount(account);
    await expect(world.names(bound, session)).rejects.toMatchObject(HAS_ENDED);
  });

  it("either ends or fails its first call when the connection is deleted at the same time", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    for (let round = 0; round < 10; round += 1) {
      const connection = await world.connect(account, ["echo"]);
      const session = await world.open(me);
      const [called] = await Promise.allSettled([
        world.call(me, session, `echo__${connection.id}`),
        world.store.delete(account, connection.id, OPERATOR),
      ]);
      world.sessions.invalidateAccount(account);
      if (called.status === "fulfilled") await expect(world.names(me, session)).rejects.toMatchObject(HAS_ENDED);
      else expect(called.reason).toMatchObject({ kind: "not_found" });
    }
  });

  it("ends when its client or its personal access token is revoked, and when its account is disabled", async () => {
    const account = await world.createAccount();
    const accountId = account;
    const clients = createClientStore(world);
    const tokens = createPersonalAccessTokenStore(world);
    const registration = {
      ...{ name: "", scopes: ["mcp.read" as const], redirectUris: [], grantTypes: ["client_credentials" as const] },
      ...{ tokenEndpointAuthMethod: "client_secret_basic" as const, jwks: undefined, jwksUri: undefined },
    };
    await clients.insert(
      { ...registration, accountId, memberId: undefined, id: "client_r", secretHash: Buffer.alloc(32) },
      10,
      OPERATOR,
    );
    const token = {
      ...{ accountId, memberId: undefined, id: "pat_i", clientId: "pat_c", name: "", scopes: ["mcp.read" as const] },
      ...{ connectionId: undefined, createdAt: new Date(), expiresAt: undefined, revokedAt: undefined },
      ...{ lastUsedAt: undefined, replacedBy: undefined },
    };
    await tokens.insert(token, 10, OPERATOR);
    for (const clientId of ["client_r", "pat_c", "client_1"]) await world.open(principal(account, { clientId }));
    expect(await clients.revoke(accountId, "client_r", OPERATOR)).toBe(true);
    expect(await stored(account)).toBe(2);
    expect(await tokens.revoke(accountId, "pat_i", OPERATOR)).toBe(true);
    expect(await stored(account)).toBe(1);
    expect(await createAccountStore(world.orm).disable(account, OPERATOR)).toBe(true);
    expect(await stored(account)).toBe(0);
  });
});

describe("an account", () => {
  it("has at most 100 sessions, even when opened concurrently, and the longest idle one ends", async () => {
    const account = await world.createAccount();
    const me = principal(account);
    const first = await world.open(me);
    const second = await world.open(me);
    await world.pool.query("update session set last_used_at = now() - interval '1 hour' where id = $1", [second]);
    await Promise.all(Array.from({ length: 99 }, () => world.open(me)));
    expect(await stored(account)).toBe(100);
    world.sessions.invalidateAccount(account);
    await expect(world.names(me, second)).rejects.toMatchObject(HAS_ENDED);
    await world.names(me, first);
    await Promise.all(Array.from({ length: 30 }, () => world.open(me)));
    expect(await stored(account)).toBe(100);
  });

  it("at its limit replaces only a session of the same client, on every replica", async () => {
    const other = await world.createReplica();
    const account = await world.createAccount();
    const [busy, me] = [principal(account, { clientId: "client_2" }), principal(account)];
    const mine = [await world.open(me), await world.open(me)];
    await world.pool.query("update session set last_used_at = now() - interval '1 hour' where id = $1", [mine[1]]);
    const theirs = await Promise.all(Array.from({ length: 98 }, () => world.open(busy)));
    const clientInfo = { name: "c", version: "1" };
    const opened = await Promise.all([
      other.sessions.open(me, "2025-06-18", clientInfo),
      world.sessions.open(busy, "2025-06-18", clientInfo),
    ]);
    expect(await stored(account)).toBe(100);
    const { rows } = await world.pool.query<{ id: string }>("select id from session where account_id = $1", [account]);
    const left = new Set(rows.map(({ id }) => id));
    expect([...mine, opened[0].id].map((id) => left.has(id))).toEqual([true, false, true]);
    expect([...theirs, opened[1].id].filter((id) => left.has(id))).toHaveLength(98);
  });

  it("at its limit rejects a client without sessions until one ends or is idle for too long", async () => {
    const account = await world.createAccount();
    const [busy, me] = [principal(account, { clientId: "client_2" }), principal(account)];
    const theirs = await Promise.all(Array.from({ length: 100 }, () => world.open(busy)));
    const refusal = {
      kind: "exhausted",
      message:
        "The account has 100 sessions open, which is the limit, and all of them belong to other clients. End a session that is no longer needed, then open another.",
    };
    await expect(world.open(me)).rejects.toMatchObject(refusal);
    expect(await stored(account)).toBe(100);
    await world.sessions.end(busy, theirs[0]);
    await world.open(me);
    await expect(world.open(principal(account, { clientId: "client_3" }))).rejects.toMatchObject(refusal);
    await world.pool.query("update session set last_used_at = now() - interval '25 hours' where id = $1", [theirs[1]]);
    await world.open(principal(account, { clientId: "client_3" }));
  });
});

const IDLE_SECONDS = "select extract(epoch from now() - last_used_at)::float8 as idle from session where id = $1";

describe("an idle session", () => {
  let short: World;
  beforeAll(async () => {
    short = await createWorld({ idleSeconds: 60 });
  });
  afterAll(() => short.close());

  it("expires and is deleted by the sweep, while a used one continues", async () => {
    const me = principal(await short.createAccount());
    const [idle, used] = [await short.open(me), await short.open(me)];
    const clock = startClock();
    const pass = async (seconds: number): Promise<void> => {
      await short.pool.query(
        "update session set last_used_at = last_used_at - make_interval(secs => $1), idle_since = idle_since - make_interval(secs => $1)",
        [seconds],
      );
      clock.pass(seconds * 1_000);
    };
    await pass(40);
    await short.names(me, used);
    await expect
      .poll(async () => (await short.pool.query(IDLE_SECONDS, [used])).rows)
      .toEqual([{ idle: expect.closeTo(0, -1) as number }]);
    await pass(30);
    await expect(short.names(me, idle)).rejects.toMatchObject(HAS_ENDED);
    expect(await short.sessions.endIdle()).toBe(1);
    await short.names(me, used);
  });
});
