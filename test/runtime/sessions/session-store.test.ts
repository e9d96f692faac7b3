import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { createSessionId, type McpSession } from "../../../src/runtime/sessions/session.ts";
import type { SessionStore } from "../../../src/runtime/sessions/session-store.ts";
import { createSessionStore } from "../../../src/storage/stores/sessions/session.ts";
import { createWorld, type World } from "../world.ts";

const DAY = 86_400;

let world: World;
let store: SessionStore;
beforeAll(async () => {
  world = await createWorld();
  store = createSessionStore(world);
});
afterAll(() => world.close());

async function open(): Promise<McpSession> {
  const session = await store.open(
    {
      accountId: await world.createAccount(),
      id: createSessionId(),
      memberId: undefined,
      clientId: "client_1",
      connectionId: undefined,
      grantId: undefined,
      protocolVersion: "2025-06-18",
      clientInfo: { name: "n", version: "v" },
      clientCapabilities: {},
    },
    100,
    DAY,
  );
  if (session === undefined || session === "full") throw new Error("no session");
  return session;
}

describe("stored sessions", () => {
  it("are read back unchanged, as the same object while nothing changed", async () => {
    const session = await open();
    const { accountId, id } = session;
    expect((await store.find(accountId, id, DAY, undefined))?.session).toEqual(session);
    expect((await store.find(accountId, id, DAY, session))?.session).toBe(session);
    const claim = {
      bareNameOwners: new Map([[5, 7]]),
      aliasOwners: new Map([["docs", 7]]),
      calledConnectionId: undefined,
    };
    const claimed = await store.claim(accountId, id, claim);
    expect(claimed).toMatchObject({
      ...session,
      bareNameOwners: new Map([[5, 7]]),
      aliasOwners: new Map([["docs", 7]]),
      version: expect.any(String) as string,
    });
    expect((await store.find(accountId, id, DAY, claimed))?.session).toBe(claimed);
    expect((await store.find(accountId, id, DAY, session))?.session).toEqual(claimed);
  });

  it("keep the first owner of a name under concurrent claims", async () => {
    const { accountId, id } = await open();
    const claims = Array.from({ length: 20 }, (_, owner) =>
      store.claim(accountId, id, {
        bareNameOwners: new Map([
          [1, owner],
          [100 + owner, owner],
        ]),
        aliasOwners: new Map([["docs", owner]]),
        calledConnectionId: undefined,
      }),
    );
    const owners = new Set((await Promise.all(claims)).map((session) => session?.bareNameOwners.get(1)));
    expect(owners.size).toBe(1);
    const found = await store.find(accountId, id, DAY, undefined);
    expect(found?.session.aliasOwners).toEqual(new Map([["docs", [...owners][0]]]));
    expect(found?.session.bareNameOwners.size).toBe(21);
  });

  it("store a called connection once, and reject one that does not exist", async () => {
    const { accountId, id } = await open();
    const connection = await world.connect(accountId, []);
    const claim = { bareNameOwners: new Map(), aliasOwners: new Map(), calledConnectionId: connection.id };
    const claims = await Promise.all([1, 2, 3].map(() => store.claim(accountId, id, claim)));
    for (const session of claims) expect(session?.calledConnectionIds).toEqual(new Set([connection.id]));
    const { rows } = await world.pool.query("select called_connection_ids as called from session where id = $1", [id]);
    expect(rows).toEqual([{ called: [connection.id] }]);
    expect(await store.claim(accountId, id, { ...claim, calledConnectionId: 999_999 })).toBeUndefined();
  });

  it("are not found in another account, after their end, or when idle for too long", async () => {
    const { accountId, id } = await open();
    expect(await store.find(await world.createAccount(), id, DAY, undefined)).toBeUndefined();
    await world.pool.query("update session set last_used_at = now() - interval '61 seconds' where id = $1", [id]);
    expect(await store.find(accountId, id, 60, undefined)).toBeUndefined();
    expect((await store.find(accountId, id, DAY, undefined))?.idleMs).toBeGreaterThan(60_000);
    await store.touch(accountId, id);
    expect(await store.find(accountId, id, 60, undefined)).toBeDefined();
    expect(await store.end(accountId, id)).toBe(true);
    expect(await store.end(accountId, id)).toBe(false);
    expect(await store.find(accountId, id, DAY, undefined)).toBeUndefined();
  });

  it("are deleted in batches when idle", async () => {
    await world.pool.query("delete from session");
    for (let count = 0; count < 5; count += 1) await open();
    await world.pool.query(
      "update session set last_used_at = now() - interval '1 hour', idle_since = now() - interval '1 hour'",
    );
    const fresh = await open();
    expect(await store.endIdle(60, 3)).toBe(3);
    expect(await store.endIdle(60, 3)).toBe(2);
    expect(await store.endIdle(60, 3)).toBe(0);
    expect(await store.find(fresh.accountId, fresh.id, 60, undefined)).toBeDefined();
  });
});
