import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Connection } from "../../src/connections/connection.ts";
import type { ConnectionStore, NewConnection } from "../../src/connections/connection-store.ts";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createToolListStore } from "../../src/storage/stores/tools/tool-list.ts";
import { createToolNames } from "../../src/storage/stores/tools/tool-name.ts";
import { createPurge } from "../../src/storage/stores/connections/purge.ts";
import { createTestDatabase } from "../support/database.ts";

let testDatabase: Awaited<ReturnType<typeof createTestDatabase>>;
let database: Database;
let store: ConnectionStore;
const enqueued: string[] = [];
const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
let failNext = false;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  for (const id of ["acc_a", "acc_b"]) {
    await database.pool.query("insert into account (id, email, password_hash) values ($1, $1 || '@example.com', '')", [
      id,
    ]);
  }
  store = createConnectionStore({
    orm: database.orm,
    pool: database.pool,
    sealer,
    hashSecret: (secret) => Buffer.from(`hash of ${secret.length} characters`),
    maxConnections: 20,
    enqueueVerification: async (_client, connection) => {
      await Promise.resolve();
      if (failNext) throw new Error("the queue is broken");
      enqueued.push(`verify ${connection.id}/${connection.keyVersion}`);
    },
    enqueuePurge: async (_client, _accountId, id) => {
      await Promise.resolve();
      if (failNext) throw new Error("the queue is broken");
      enqueued.push(`purge ${id}`);
    },
  });
});

afterAll(async () => {
  await database.close();
  await testDatabase.close();
});

beforeEach(async () => {
  enqueued.length = 0;
  failNext = false;
  await database.pool.query("delete from connection");
  await database.pool.query("delete from idempotency_key");
});

function fresh(overrides: Partial<NewConnection> = {}): NewConnection {
  return {
    accountId: "acc_a",
    serverType: "acme",
    name: "People",
    description: "",
    accessType: "write",
    configuration: { company_domain: "acme" },
    secrets: { api_token: "canary-secret" },
    hasCredential: true,
    statusReason: undefined,
    acceptToolChanges: "manual",
    authMethod: "configured",
    needsAuthorization: false,
    ...overrides,
  };
}

async function rows(table: string): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(`select count(*)::integer as count from ${table}`);
  return rows[0]?.count ?? -1;
}

describe("connections in PostgreSQL", () => {
  it("are read as they were stored, and their secrets can be decrypted only for their own connection", async () => {
    const created = await store.create(fresh(), OPERATOR);
    expect(await store.find("acc_a", created.id)).toEqual(created);
    expect(JSON.stringify(created)).not.toContain("canary");
    const sealed = await store.sealedSecrets("acc_a", created.id, 1);
    expect(Buffer.from(sealed ?? []).toString("latin1")).not.toContain("canary");
    expect(store.openSecrets("acc_a", created.id, sealed ?? new Uint8Array())).toEqual({ api_token: "canary-secret" });
    expect(() => store.openSecrets("acc_a", created.id + 1, sealed ?? new Uint8Array())).toThrow();
    expect(() => store.openSecrets("acc_b", created.id, sealed ?? new Uint8Array())).toThrow();
  });

  it("return encrypted secrets that keep no larger buffer in memory", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    const sealed = await store.sealedSecrets("acc_a", id, 1);
    expect(sealed?.buffer.byteLength).toBe(sealed?.byteLength);
  });

  it("are found only by their owner", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    expect(await store.find("acc_b", id)).toBeUndefined();
    expect(await store.list("acc_b")).toEqual([]);
    expect(await store.delete("acc_b", id, OPERATOR)).toBe(false);
    expect(await store.sealedSecrets("acc_b", id, 1)).toBeUndefined();
  });

  it("are listed oldest first, in pages that count all of them", async () => {
    const ids = [];
    for (let i = 0; i < 5; i += 1) ids.push((await store.create(fresh({ name: `n${i}` }), OPERATOR)).id);
    expect((await store.list("acc_a")).map(({ id }) => id)).toEqual(ids);
    const page = await store.listPage("acc_a", 2, 3);
    expect(page.connections.map(({ id }) => id)).toEqual(ids.slice(3, 5));
    expect(page.totalCount).toBe(5);
  });

  it("are rejected above the account's limit, even when created concurrently", async () => {
    const outcomes = await Promise.allSettled(Array.from({ length: 30 }, () => store.create(fresh(), OPERATOR)));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(20);
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") expect(outcome.reason).toMatchObject({ kind: "exhausted" });
    }
    expect(await rows("connection")).toBe(20);
    expect(await rows("oauth_client")).toBe(20);
  });

  it("leave the idempotency key unused when their creation fails", async () => {
    const key = { key: "k", request: "all that was asked for" };
    failNext = true;
    await expect(store.createOnce(fresh(), OPERATOR, key)).rejects.toThrow();
    expect(await rows("idempotency_key")).toBe(0);
    failNext = false;
    const [one, two] = await Promise.all([1, 2].map(() => store.createOnce(fresh(), OPERATOR, key)));
    expect([one?.isRepeated, two?.isRepeated].toSorted()).toEqual([false, true]);
    expect(await store.findCreated("acc_a", key)).toEqual({ ...one, isRepeated: true });
    expect(await rows("connection")).toBe(1);
    const other = store.createOnce(fresh(), OPERATOR, { ...key, request: "asked for something" });
    await expect(other).rejects.toMatchObject({ kind: "conflict", reason: "IDEMPOTENCY_KEY_REUSED" });
  });

  it("lose their idempotency key to the sweep after a day", async () => {
    const [kept, expired] = ["kept", "expired"].map((key) => ({ key, request: key }));
    for (const each of [kept, expired]) if (each) await store.createOnce(fresh(), OPERATOR, each);
    await database.pool.query("update idempotency_key set expires_at = now() where key = 'expired'");
    await createPurge(database.pool).expired();
    const { rows: left } = await database.pool.query(
      "select key from idempotency_key where key in ('kept', 'expired')",
    );
    expect(left).toEqual([{ key: "kept" }]);
  });

  it("are not stored when their verification cannot be scheduled", async () => {
    failNext = true;
    await expect(store.create(fresh(), OPERATOR)).rejects.toThrow();
    expect(await rows("connection")).toBe(0);
    expect(await rows("oauth_client")).toBe(0);
  });

  it("change only from their current version: one of 10 concurrent changes succeeds", async () => {
    const before = await store.create(fresh(), OPERATOR);
    const attempts = Array.from({ length: 10 }, (_, i) =>
      store.save(before, { ...before, name: `name ${i}` }, {}, { actor: OPERATOR, fields: [] }),
    );
    const saved = (await Promise.all(attempts)).filter((result): result is Connection => result !== undefined);
    expect(saved).toHaveLength(1);
    expect(await store.find("acc_a", before.id)).toEqual(saved[0]);
  });

  it("store a new secret, client secret and scopes in one transaction with the verification", async () => {
    const before = await store.create(fresh(), OPERATOR);
    const after = { ...before, accessType: "read" as const, keyVersion: 2, verificationStatus: "pending" as const };
    const saved = await store.save(
      before,
      after,
      {
        secrets: { api_token: "second" },
        verify: true,
        clientSecret: "x".repeat(40),
        clientScopes: ["mcp.read"],
        endClientAccess: true,
        forgetTools: true,
      },
      { actor: OPERATOR, fields: [] },
    );
    expect(saved).toMatchObject({ accessType: "read", keyVersion: 2 });
    expect(enqueued).toEqual([`verify ${before.id}/1`, `verify ${before.id}/2`]);
    const sealed = await store.sealedSecrets("acc_a", before.id, 2);
    expect(store.openSecrets("acc_a", before.id, sealed ?? new Uint8Array())).toEqual({ api_token: "second" });
    const { rows } = await database.pool.query("select scopes, secret_hash from oauth_client where id = $1", [
      before.oauthClientId,
    ]);
    expect(rows).toEqual([{ scopes: ["mcp.read"], secret_hash: Buffer.from("hash of 40 characters") }]);
    const revoked = await database.pool.query("select kind from revocation where subject = $1", [before.oauthClientId]);
    expect(revoked.rows).toEqual([{ kind: "client" }]);
  });

  it("record a verification only for the tested key", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    expect(await store.recordVerification("acc_a", id, 2, "verified", undefined)).toBe(false);
    expect(await store.find("acc_a", id)).toMatchObject({ verificationStatus: "pending" });
    expect(await store.recordVerification("acc_a", id, 1, "failed", "The key was refused.")).toBe(true);
    expect(await store.find("acc_a", id)).toMatchObject({
      verificationStatus: "failed",
      statusReason: "The key was refused.",
    });
    expect(await store.recordVerification("acc_a", id, 1, "failed", "The key was refused.")).toBe(false);
  });

  it("stay pending with a reason until their owner authorizes them", async () => {
    const { id, ...created } = await store.create(
      fresh({ authMethod: "oauth2", needsAuthorization: true, secrets: {}, hasCredential: false }),
      OPERATOR,
    );
    expect(created).toMatchObject({ authMethod: "oauth2", needsAuthorization: true, verificationStatus: "pending" });
    const found = await store.create(fresh({ secrets: {}, hasCredential: false }), OPERATOR);
    expect(await store.requireAuthorization("acc_a", found.id, 2, { reason: "Log in." })).toBe(false);
    expect(await store.requireAuthorization("acc_b", found.id, 1, { reason: "Log in." })).toBe(false);
    expect(await store.requireAuthorization("acc_a", found.id, 1, { reason: "Log in." })).toBe(true);
    expect(await store.requireAuthorization("acc_a", found.id, 1, { reason: "Log in." })).toBe(false);
    expect(await store.find("acc_a", found.id)).toMatchObject({
      authMethod: "oauth2",
      needsAuthorization: true,
      verificationStatus: "pending",
      statusReason: "Log in.",
    });
    expect(await store.recordVerification("acc_a", id, 1, "verified", undefined)).toBe(false);
  });

  it("keep using an authorization that only lacks scopes", async () => {
    const { id } = await store.create(fresh({ secrets: {}, hasCredential: false }), OPERATOR);
    await store.recordVerification("acc_a", id, 1, "verified", undefined);
    const wanted = { reason: "A call needs files:write.", wantedScope: "files:write" };
    expect(await store.requireAuthorization("acc_a", id, 1, wanted)).toBe(true);
    expect(await store.requireAuthorization("acc_a", id, 1, wanted)).toBe(false);
    expect(await store.find("acc_a", id)).toMatchObject({ needsAuthorization: true, verificationStatus: "verified" });
    expect(await store.requireAuthorization("acc_a", id, 1, { reason: "It was revoked." })).toBe(true);
    expect(await store.find("acc_a", id)).toMatchObject({ needsAuthorization: true, verificationStatus: "failed" });
    const { rows: kept } = await database.pool.query("select wanted_scope from connection where id = $1", [id]);
    expect(kept).toEqual([{ wanted_scope: "files:write" }]);
  });

  it("delete their client, tokens, tool list and sessions with them", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    const other = await store.create(fresh(), OPERATOR);
    const { pool } = database;
    await createToolListStore(pool).save("acc_a", id, { keyVersion: 1, tools: [], digest: "d", fetchedAt: new Date() });
    await pool.query(
      "insert into personal_access_token (account_id, id, client_id, scopes, connection_id) values ('acc_a', 'pat_1', 'pat_c', '{}', $1)",
      [id],
    );
    await pool.query(
      `insert into session (account_id, id, client_id, protocol_version, client_info, connection_id, called_connection_ids) values
        ('acc_a', 's_bound', 'c', '', '{}', $1, '{}'), ('acc_a', 's_called', 'c', '', '{}', null, array[$1::integer, 1]),
        ('acc_a', 's_other', 'c', '', '{}', null, array[$2::integer])`,
      [id, other.id],
    );
    expect(await store.delete("acc_a", id, OPERATOR)).toBe(true);
    expect(await store.delete("acc_a", id, OPERATOR)).toBe(false);
    expect(await store.find("acc_a", id)).toBeUndefined();
    for (const table of ["tool_list", "personal_access_token"]) expect(await rows(table)).toBe(0);
    expect((await pool.query("select id from session")).rows).toEqual([{ id: "s_other" }]);
    expect((await pool.query("select id from oauth_client")).rows).toEqual([{ id: other.oauthClientId }]);
    expect(enqueued.at(-1)).toBe(`purge ${id}`);
    await createPurge(pool).connection("acc_a", id);
    const tombstone = await pool.query(
      "select purged_at is not null as purged from connection_tombstone where connection_id = $1",
      [id],
    );
    expect(tombstone.rows).toEqual([{ purged: true }]);
    expect((await store.create(fresh(), OPERATOR)).id).toBeGreaterThan(other.id);
  });

  it("are deleted completely or not at all", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    failNext = true;
    await expect(store.delete("acc_a", id, OPERATOR)).rejects.toThrow();
    expect(await store.find("acc_a", id)).toBeDefined();
    expect(await rows("oauth_client")).toBe(1);
  });

  it("store a tool list only for the key it was fetched with", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    const lists = createToolListStore(database.pool);
    await lists.save("acc_a", id, { keyVersion: 2, tools: [], digest: "stale", fetchedAt: new Date() });
    expect(await lists.find("acc_a", id)).toBeUndefined();
  });

  it("under individual, record the first tools as known and later ones as disabled", async () => {
    const { id } = await store.create(fresh({ accessType: "individual" }), OPERATOR);
    await store.adoptTools("acc_a", id, [3, 1]);
    expect(await store.find("acc_a", id)).toMatchObject({ knownToolIds: [1, 3], disabledToolIds: [] });
    await store.adoptTools("acc_a", id, [9]);
    expect(await store.find("acc_a", id)).toMatchObject({ knownToolIds: [1, 3, 9], disabledToolIds: [9] });
  });
});

describe("tool names", () => {
  it("have one permanent id each, under concurrent requests too", async () => {
    const a = createToolNames(database.pool);
    const b = createToolNames(database.pool);
    const [first, second] = await Promise.all([a.intern(["echo", "sum"]), b.intern(["sum", "echo"])]);
    expect(second).toEqual([...first].reverse());
    expect(await a.intern(["sum"])).toEqual([first[1]]);
  });
});

describe("aliases", () => {
  const audit = { actor: OPERATOR, fields: ["alias"] };
  const withAlias = (before: Connection, alias: string) =>
    store.save(before, { ...before, alias }, { claimAlias: true }, audit);

  it("gives connections of one name different aliases, also when they are created at once", async () => {
    const made = await Promise.all([0, 1, 2].map(() => store.create(fresh(), OPERATOR)));
    expect(made.map(({ alias }) => alias).sort()).toEqual(["people", "people_2", "people_3"]);
    const other = await store.create(fresh({ accountId: "acc_b" }), OPERATOR);
    expect(other.alias).toBe("people");
  });

  it("gives an alias to only one of two connections that ask for it at once", async () => {
    const [one, two] = [await store.create(fresh(), OPERATOR), await store.create(fresh(), OPERATOR)];
    const outcomes = await Promise.allSettled([withAlias(one, "work"), withAlias(two, "work")]);
    expect(outcomes.map(({ status }) => status).sort()).toEqual(["fulfilled", "rejected"]);
    const listed = await store.list("acc_a");
    expect(listed.filter(({ alias }) => alias === "work")).toHaveLength(1);
  });

  it("computes the alias of a row that was stored before aliases existed, and stores it with the next update", async () => {
    const { id } = await store.create(fresh(), OPERATOR);
    await database.pool.query("update connection set alias = null where id = $1", [id]);
    const before = await store.find("acc_a", id);
    expect(before?.alias).toBe(`people_${id}`);
    if (before === undefined) throw new Error("the connection is gone");
    const other = await store.create(fresh(), OPERATOR);
    await expect(withAlias(other, `people_${id}`)).rejects.toThrow(/is taken by the connection "People"/);
    await store.save(before, { ...before, name: "Renamed" }, {}, { actor: OPERATOR, fields: ["name"] });
    const { rows } = await database.pool.query("select name, alias from connection where id = $1", [id]);
    expect(rows).toEqual([{ name: "Renamed", alias: `people_${id}` }]);
  });
});
