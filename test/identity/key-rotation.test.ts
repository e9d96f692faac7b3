import { decodeProtectedHeader } from "jose";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Account } from "../../src/identity/account.ts";
import { RETIRED_SECONDS } from "../../src/identity/keys/key-rotation.ts";
import { KEYS_CACHE_SECONDS, type KeyPurpose, PUBLISHED_AHEAD_SECONDS } from "../../src/identity/keys/signing-keys.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createSigningKeyStore } from "../../src/storage/stores/identity/signing-key.ts";
import { type Installation, type Replica, startInstallation } from "../transport/oauth/installation.ts";
import { until } from "../support/until.ts";

let installation: Installation;
let replicas: readonly [Replica, Replica];
let account: Account;

beforeEach(async () => {
  installation = await startInstallation();
  replicas = [await installation.startReplica(), await installation.startReplica()];
  account = await installation.newAccount();
});
afterEach(async () => {
  for (const replica of replicas) await replica.close();
  await installation.close();
});

const query = (text: string, values: unknown[] = []) => installation.database.pool.query(text, values);

/** Reads the key ids of a purpose by state. */
async function idsOf(purpose: KeyPurpose = "access_token") {
  const { rows } = await installation.database.pool.query<{ id: string; state: "next" | "current" | "retired" }>(
    "select id, state from signing_key where purpose = $1 order by created_at desc, id",
    [purpose],
  );
  const inState = (state: string): string[] => rows.filter((row) => row.state === state).map(({ id }) => id);
  return { next: inState("next"), current: inState("current"), retired: inState("retired") };
}

function published(replica: Replica): readonly unknown[] {
  return replica.keys.publicKeys().keys.map(({ kid }) => kid);
}

async function freshToken(): Promise<string> {
  await installation.keys.reload();
  return installation.token(await installation.clients.create(account, "mgmt.read"));
}

function personalToken(expiresInDays?: number): Promise<{ readonly id: string; readonly token: string }> {
  return installation.personalAccessTokens.create(account, {
    scope: "mgmt.read",
    name: "",
    connectionId: undefined,
    expiresInDays,
  });
}

async function accepts(replica: Replica, token: string): Promise<boolean> {
  try {
    await replica.verifier.verify(`Bearer ${token}`, [installation.issuer]);
    return true;
  } catch {
    return false;
  }
}

const rotate = (purpose: KeyPurpose = "access_token", isForced = false) =>
  installation.keyRotation.rotate({ purpose, isForced }, OPERATOR);

/** Moves keys and personal access tokens into the past. */
async function age(seconds: number): Promise<void> {
  await query(
    `update signing_key set created_at = created_at - make_interval(secs => $1), ready_at = ready_at - make_interval(secs => $1),
       current_since = current_since - make_interval(secs => $1), retired_at = retired_at - make_interval(secs => $1)`,
    [seconds],
  );
  await query("update personal_access_token set created_at = created_at - make_interval(secs => $1)", [seconds]);
}

describe("a key is published before it signs", () => {
  test("the key set contains the next key of each purpose from the first start", async () => {
    for (const purpose of ["access_token", "personal_access_token"] as const) {
      const ids = await idsOf(purpose);
      expect([ids.next.length, ids.current.length, ids.retired.length]).toEqual([1, 1, 0]);
      expect(published(replicas[0])).toEqual(expect.arrayContaining([...ids.next, ...ids.current]));
    }
  });

  test("the key set contains no private key", () => {
    for (const key of installation.keys.publicKeys().keys) {
      expect(Object.keys(key).toSorted()).toEqual(["alg", "crv", "kid", "kty", "use", "x", "y"]);
    }
  });

  test("the key set may be cached for less time than a next key is published before it signs", async () => {
    const response = await fetch(`${installation.issuer}/.well-known/jwks.json`);
    expect(response.headers.get("cache-control")).toBe(`public, max-age=${KEYS_CACHE_SECONDS}`);
    expect(PUBLISHED_AHEAD_SECONDS).toBeGreaterThan(KEYS_CACHE_SECONDS);
  });

  test("rejects a rotation too soon after the last one, with the time from which the next key may sign", async () => {
    await rotate();
    const before = await idsOf();
    await expect(rotate()).rejects.toMatchObject({ kind: "conflict", message: expect.stringMatching(/from 20\d\d-/) });
    expect(await idsOf()).toEqual(before);
    await age(PUBLISHED_AHEAD_SECONDS + 1);
    await rotate();
    expect((await idsOf()).current).toEqual(before.next);
  });

  test("a forced rotation takes effect immediately", async () => {
    await rotate();
    const { next } = await idsOf();
    await rotate("access_token", true);
    expect((await idsOf()).current).toEqual(next);
  });

  test("creates a next key for an installation of an older release, which must wait before it signs", async () => {
    await query("delete from signing_key where state = 'next'");
    await installation.keyRotation.maintain();
    const { next } = await idsOf();
    expect(next).toHaveLength(1);
    await expect(rotate()).rejects.toMatchObject({ kind: "conflict" });
  });
});

describe("rotating", () => {
  test("makes every replica sign with the next key within a second", async () => {
    const before = await idsOf();
    await rotate();
    for (const replica of replicas) {
      await until(async () => replica.keys.current("access_token").id === before.next[0], { withinMs: 5_000 });
    }
    expect(decodeProtectedHeader(await freshToken()).kid).toBe(before.next[0]);
    expect((await idsOf()).retired).toEqual(before.current);
  });

  test("keeps earlier tokens valid on running replicas and on new ones", async () => {
    const token = await freshToken();
    await rotate();
    const late = await installation.startReplica();
    for (const replica of [...replicas, late]) expect(await accepts(replica, token)).toBe(true);
    expect(published(late)).toContain(decodeProtectedHeader(token).kid);
    await late.close();
  });

  test("does not change the keys of the other purpose", async () => {
    const personal = await idsOf("personal_access_token");
    await rotate();
    expect(await idsOf("personal_access_token")).toEqual(personal);
  });

  test("by ten concurrent callers rotates once", async () => {
    const before = await idsOf();
    const outcomes = await Promise.allSettled(Array.from({ length: 10 }, () => rotate()));
    expect(outcomes.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    const after = await idsOf();
    expect([after.current, after.retired, after.next.length]).toEqual([before.next, before.current, 1]);
  });

  test("deletes the private half of retired keys and encrypts all others", async () => {
    await rotate();
    const { rows } = await installation.database.pool.query<{ state: string; is_wiped: boolean }>(
      "select state, sealed_private_jwk is null as is_wiped from signing_key",
    );
    for (const { state, is_wiped } of rows) expect(is_wiped).toBe(state === "retired");
  });

  test("lists ids, states and times without key material", async () => {
    const listed = JSON.stringify(await rotate());
    expect(listed).not.toMatch(/"(d|x|y|privateJwk|publicJwk)"/);
    expect((await installation.keyRotation.list()).map(({ state }) => state)).toEqual([
      ...["next", "current", "retired"],
      ...["next", "current"],
    ]);
  });
});

describe("the schedule", () => {
  const DAY = 86_400;

  test("does not rotate a key that is 29 days old", async () => {
    await age(29 * DAY);
    const before = await idsOf();
    await installation.keyRotation.maintain();
    expect(await idsOf()).toEqual(before);
  });

  test("rotates a key that is 30 days old once, however many replicas run", async () => {
    await age(30 * DAY + 60);
    const before = await idsOf();
    await Promise.all([...replicas, ...replicas].map(({ keyRotation }) => keyRotation.maintain()));
    const after = await idsOf();
    expect([after.current, after.retired, after.next.length]).toEqual([before.next, before.current, 1]);
  });

  test("waits for a next key that has not been published for long enough", async () => {
    await age(30 * DAY + 60);
    await query("update signing_key set ready_at = now() + interval '5 minutes' where state = 'next'");
    const before = await idsOf();
    await installation.keyRotation.maintain();
    expect(await idsOf()).toEqual(before);
  });

  test("never rotates keys of personal access tokens by itself", async () => {
    await age(400 * DAY);
    const before = await idsOf("personal_access_token");
    await installation.keyRotation.maintain();
    expect(await idsOf("personal_access_token")).toEqual(before);
  });
});

describe("a retired key", () => {
  test("is deleted on every replica after its last token and all cached key sets have expired", async () => {
    const token = await freshToken();
    await rotate();
    const [kid] = (await idsOf()).retired;
    await age(3_600 + KEYS_CACHE_SECONDS);
    await installation.keyRotation.maintain();
    expect((await idsOf()).retired).toEqual([kid]);
    await age(RETIRED_SECONDS - 3_600 - KEYS_CACHE_SECONDS + 1);
    await installation.keyRotation.maintain();
    expect((await idsOf()).retired).toEqual([]);
    for (const replica of replicas) {
      await until(async () => !published(replica).includes(kid), { withinMs: 5_000 });
      // This replica has not seen the token, so no cache applies.
      expect(await accepts(replica, token)).toBe(false);
    }
  });

  test("of personal access tokens is never deleted while a token that it may have signed is active", async () => {
    const { id, token } = await personalToken();
    await rotate("personal_access_token");
    await age(10 * 365 * 86_400);
    await installation.keyRotation.maintain();
    expect((await idsOf("personal_access_token")).retired).toHaveLength(1);
    expect(await accepts(replicas[0], token)).toBe(true);
    await installation.personalAccessTokens.revoke(id);
    await installation.keyRotation.maintain();
    expect((await idsOf("personal_access_token")).retired).toEqual([]);
  });

  test("of personal access tokens is deleted when the last of them has expired", async () => {
    const { id } = await personalToken(1);
    await rotate("personal_access_token");
    await age(86_400);
    await installation.keyRotation.maintain();
    expect((await idsOf("personal_access_token")).retired).toHaveLength(1);
    await query("update personal_access_token set expires_at = now() - interval '1 minute' where id = $1", [id]);
    await installation.keyRotation.maintain();
    expect((await idsOf("personal_access_token")).retired).toEqual([]);
  });

  test("of personal access tokens does not wait for tokens that a later key signed", async () => {
    await rotate("personal_access_token");
    await age(86_400);
    await installation.keys.reload();
    const { token } = await personalToken();
    await installation.keyRotation.maintain();
    expect((await idsOf("personal_access_token")).retired).toEqual([]);
    expect(await accepts(replicas[0], token)).toBe(true);
  });
});

describe("a key that a replica does not know", () => {
  const deaf = { listen: () => Promise.resolve(), onReconnect: () => undefined, isHealthy: () => true };

  test("is found by one reload", async () => {
    const replica = await installation.startReplica(deaf);
    await rotate();
    await rotate("access_token", true);
    const token = await freshToken();
    expect(await accepts(replica, token)).toBe(true);
    await replica.close();
  });

  test("causes at most one reload per second", async () => {
    const store = createSigningKeyStore(installation.database.orm, installation.sealer);
    const list = vi.spyOn(store, "list");
    const { loadSigningKeys } = await import("../../src/identity/keys/signing-keys.ts");
    const keys = await loadSigningKeys(store);
    list.mockClear();
    const strange = (count: number): string => `at_${String(count).padStart(22, "A")}`;
    const found = await Promise.all(
      Array.from({ length: 500 }, (_, count) => keys.findVerificationKey(strange(count))),
    );
    expect(found.every((key) => key === undefined)).toBe(true);
    expect(list).toHaveBeenCalledTimes(1);
    await keys.findVerificationKey("../../etc/passwd");
    await keys.findVerificationKey("");
    expect(list).toHaveBeenCalledTimes(1);
  });

  test("fails with unavailable while the database is unavailable", async () => {
    const other = await startInstallation();
    const replica = await other.startReplica(deaf);
    await other.close();
    const [header, payload, signature] = (await freshToken()).split(".");
    const kid = `at_${"A".repeat(22)}`;
    const strange = Buffer.from(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid })).toString("base64url");
    await expect(
      replica.verifier.verify(`Bearer ${[strange, payload, signature].join(".")}`, [other.issuer]),
    ).rejects.toMatchObject({ kind: "unavailable" });
    expect(header).not.toBe(strange);
    await replica.close();
  });
});

test("a replica has the new keys as soon as its lost listener reconnects", async () => {
  const before = await idsOf();
  // A rotation without a notification, as while the listener is disconnected.
  await query("update signing_key set state = 'retired' where state = 'current' and purpose = 'access_token'");
  await query(
    "update signing_key set state = 'current', current_since = now() where state = 'next' and purpose = 'access_token'",
  );
  await query(
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'patchbay listener' and datname = current_database()",
  );
  for (const replica of replicas) {
    await until(async () => replica.keys.current("access_token").id === before.next[0]);
  }
});

test("rejects a key encrypted under another installation's master key", async () => {
  const stranger = createSealer([{ version: 1, key: Buffer.alloc(32, 7) }]);
  await expect(createSigningKeyStore(installation.database.orm, stranger).list()).rejects.toThrow(
    /signing_key\.sealed_private_jwk was changed or belongs elsewhere/,
  );
});
