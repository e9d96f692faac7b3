import { decodeJwt, decodeProtectedHeader, importJWK, SignJWT } from "jose";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import {
  insertConnection,
  type Installation,
  type Replica,
  startInstallation,
} from "../transport/oauth/installation.ts";

let installation: Installation;
let replica: Replica;
let account: Account;

beforeAll(async () => {
  installation = await startInstallation();
  replica = await installation.startReplica();
  account = await installation.newAccount();
});
afterAll(async () => {
  await replica.close();
  await installation.close();
});

function create(connectionId?: number, expiresInDays?: number) {
  const request = { scope: "mgmt.read", name: "mine", connectionId, expiresInDays };
  return installation.personalAccessTokens.create(account, request);
}

async function verify(token: string) {
  return replica.verifier.verify(`Bearer ${token}`, [installation.issuer]);
}

test("a personal access token has exactly the claims of the spec's table and a scope string, and no expiry", async () => {
  const id = await insertConnection(installation, account);
  const { id: tokenId, token } = await create(id);
  expect(decodeJwt(token)).toEqual({
    iss: installation.issuer,
    aud: installation.issuer,
    sub: account.id,
    client_id: expect.stringMatching(/^pat_/) as string,
    scopes: ["mgmt.read"],
    scope: "mgmt.read",
    token_use: "access",
    token_type: "pat",
    mcp_server_id: id,
    iat: expect.any(Number) as number,
    jti: tokenId,
  });
  expect(tokenId).toMatch(/^pat_/);
  expect(await verify(token)).toMatchObject({ accountId: account.id, connectionId: id, expiresAt: undefined });
});

test("personal access tokens are signed with a separate key", async () => {
  const { token } = await create();
  expect(decodeProtectedHeader(token).kid).toBe(installation.keys.current("personal_access_token").id);
  expect(decodeProtectedHeader(token).kid).not.toBe(installation.keys.current("access_token").id);
});

test("a personal access token expires at its expiry date", async () => {
  const claims = decodeJwt((await create(undefined, 30)).token);
  expect(Number(claims.exp) - Number(claims.iat)).toBe(30 * 86_400);
});

test("rejects a personal access token without a row, although its signature is valid", async () => {
  const { id, privateJwk } = installation.keys.current("personal_access_token");
  const { token } = await create();
  await verify(token);
  for (const change of [{ jti: "pat_0" }, { client_id: "pat_0" }, { sub: "acc_0" }]) {
    const forged = await new SignJWT({ ...decodeJwt(token), ...change })
      .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: id })
      .sign(await importJWK(privateJwk, "ES256"));
    await expect(verify(forged)).rejects.toMatchObject({ kind: "unauthenticated" });
  }
});

test("a personal access token cannot be bound to a connection of another account", async () => {
  const foreign = await insertConnection(installation, await installation.newAccount());
  await expect(create(foreign)).rejects.toMatchObject({ kind: "not_found" });
});

test("deleting a connection deletes the personal access tokens bound to it", async () => {
  const id = await insertConnection(installation, account);
  const { token } = await create(id);
  await installation.database.pool.query("delete from connection where id = $1", [id]);
  await expect(verify(token)).rejects.toMatchObject({ kind: "unauthenticated" });
});

test("a revoked personal access token is rejected even after its revocation has expired", async () => {
  const { pool } = installation.database;
  const { id, token } = await create();
  await verify(token);
  await installation.personalAccessTokens.revoke(id);
  const expiry = "select from revocation where subject = $1 and expires_at < now() + interval '2 hours'";
  expect((await pool.query(expiry, [id])).rowCount).toBe(1);
  await pool.query("delete from revocation where subject = $1", [id]);
  const later = await installation.startReplica();
  await expect(later.verifier.verify(`Bearer ${token}`, [installation.issuer])).rejects.toMatchObject({
    kind: "unauthenticated",
  });
  await later.close();
});

test("replicas that start together on a new database agree on the keys of each purpose", async () => {
  const { loadSigningKeys } = await import("../../src/identity/keys/signing-keys.ts");
  const { createSigningKeyStore } = await import("../../src/storage/stores/identity/signing-key.ts");
  const { orm, pool } = installation.database;
  await pool.query("delete from signing_key");
  const store = createSigningKeyStore(orm, installation.sealer);
  const loaded = await Promise.all([1, 2, 3, 4].map(() => loadSigningKeys(store)));
  for (const purpose of ["access_token", "personal_access_token"] as const) {
    expect(new Set(loaded.map((keys) => keys.current(purpose).id)).size).toBe(1);
  }
  // A current and a next key for each purpose.
  expect(loaded.map((keys) => keys.publicKeys().keys.length)).toEqual([4, 4, 4, 4]);
});
