import { setTimeout as sleep } from "node:timers/promises";
import { decodeJwt } from "jose";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import type { Account } from "../../src/identity/account.ts";
import type { RevocationListener } from "../../src/identity/revocations/revocations.ts";
import type { TokenVerifier } from "../../src/identity/tokens/verifier.ts";
import { DomainError } from "../../src/domain-error.ts";
import { createClientStore } from "../../src/storage/stores/identity/client.ts";
import { revoke } from "../../src/storage/stores/identity/revocation.ts";
import { transaction } from "../../src/storage/transaction.ts";
import { hashSecret } from "../../src/identity/hash-secret.ts";
import {
  insertConnection,
  type Installation,
  type Replica,
  startInstallation,
} from "../transport/oauth/installation.ts";
import { until } from "../support/until.ts";

let installation: Installation;
let replicas: readonly [Replica, Replica];
let account: Account;

beforeAll(async () => {
  installation = await startInstallation();
  replicas = [await installation.startReplica(), await installation.startReplica()];
  account = await installation.newAccount();
});
afterAll(async () => {
  for (const replica of replicas) await replica.close();
  await installation.close();
});

async function outcome(verifier: TokenVerifier, token: string): Promise<string> {
  try {
    await verifier.verify(`Bearer ${token}`, [installation.issuer]);
    return "accepted";
  } catch (error) {
    return error instanceof DomainError ? error.message : String(error);
  }
}

/** A listener without notifications. */
function listenerThatIs(isHealthy: () => boolean): RevocationListener {
  return { listen: () => Promise.resolve(), onReconnect: () => undefined, isHealthy };
}

const REFUSED = "Invalid or expired token.";

/** Every replica has cached the token, so that a cached principal must be rejected. */
async function everyReplicaAccepts(token: string): Promise<void> {
  for (const { verifier } of replicas) expect(await outcome(verifier, token)).toBe("accepted");
}

async function everyReplicaRefuses(token: string): Promise<void> {
  for (const { verifier } of replicas) {
    await vi.waitFor(async () => expect(await outcome(verifier, token)).toBe(REFUSED), { timeout: 5_000 });
  }
}

async function ownClient(scopes: readonly string[]) {
  const own = {
    clientId: `own_${Math.random().toString(36).slice(2)}`,
    clientSecret: "a-secret-that-somebody-chose-for-it-0",
  };
  const id = await insertConnection(installation, account, {
    clientId: own.clientId,
    secretHash: hashSecret(installation.pepper, own.clientSecret),
    scopes,
  });
  return { ...own, id };
}

describe("revocation on every replica", () => {
  test("rejects only the tokens of a revoked client", async () => {
    const [client, other] = [
      await installation.clients.create(account, "mgmt.read"),
      await installation.clients.create(account, "mgmt.read"),
    ];
    const [token, otherToken] = [await installation.token(client), await installation.token(other)];
    await everyReplicaAccepts(token);
    await installation.clients.revoke(client.clientId);
    await everyReplicaRefuses(token);
    await everyReplicaAccepts(otherToken);
  });

  test("rejects only a revoked personal access token", async () => {
    const request = { scope: "mgmt.read", name: "", connectionId: undefined, expiresInDays: undefined };
    const [first, second] = [
      await installation.personalAccessTokens.create(account, request),
      await installation.personalAccessTokens.create(account, request),
    ];
    await everyReplicaAccepts(first.token);
    await installation.personalAccessTokens.revoke(first.id);
    await everyReplicaRefuses(first.token);
    await everyReplicaAccepts(second.token);
    await expect(installation.personalAccessTokens.revoke(first.id)).rejects.toMatchObject({ kind: "not_found" });
  });

  test("rejects the client's and personal tokens bound to a deleted connection", async () => {
    const own = await ownClient(["mcp.read"]);
    const personal = await installation.personalAccessTokens.create(account, {
      scope: "mcp.read",
      name: "",
      connectionId: own.id,
      expiresInDays: undefined,
    });
    const token = await installation.token(own);
    await everyReplicaAccepts(token);
    await everyReplicaAccepts(personal.token);
    await transaction(installation.database.pool, async (client) => {
      await client.query("delete from connection where id = $1", [own.id]);
      await revoke(client, { accountId: account.id, kind: "connection", subject: String(own.id) });
    });
    await everyReplicaRefuses(token);
    await everyReplicaRefuses(personal.token);
  });

  test("rejects every token of a disabled account", async () => {
    const leaving = await installation.newAccount();
    const client = await installation.clients.create(leaving, "mgmt.read");
    const personal = await installation.personalAccessTokens.create(leaving, {
      scope: "mgmt.read",
      name: "",
      connectionId: undefined,
      expiresInDays: undefined,
    });
    const token = await installation.token(client);
    await everyReplicaAccepts(token);
    await everyReplicaAccepts(personal.token);
    await installation.accounts.disable(leaving.email);
    await everyReplicaRefuses(token);
    await everyReplicaRefuses(personal.token);
    const late = await installation.startReplica();
    expect(await outcome(late.verifier, token)).toBe(REFUSED);
    await late.close();
  });

  test("rejects no token if the revoking transaction is rolled back", async () => {
    const client = await installation.clients.create(account, "mgmt.read");
    const token = await installation.token(client);
    await transaction(installation.database.pool, async (connection) => {
      await revoke(connection, { accountId: account.id, kind: "client", subject: client.clientId });
      throw new Error("changed my mind");
    }).catch(() => undefined);
    await sleep(50);
    await everyReplicaAccepts(token);
  });
});

test("a replica rejects what it revoked itself at once, before any notification", async () => {
  const client = await installation.clients.create(account, "mgmt.read");
  const token = await installation.token(client);
  await everyReplicaAccepts(token);
  replicas[0].revocations.add({ kind: "client", subject: client.clientId, before: undefined });
  expect(await outcome(replicas[0].verifier, token)).toBe(REFUSED);
});

describe("narrowing a connection's client", () => {
  async function narrow(clientId: string, work?: () => Promise<void>): Promise<void> {
    await transaction(installation.database.pool, async (client) => {
      await client.query("update oauth_client set scopes = '{mcp.read}' where id = $1", [clientId]);
      await revoke(client, { accountId: account.id, kind: "client", subject: clientId, issuedBefore: new Date() });
      await work?.();
    });
  }

  test("rejects earlier tokens and accepts later ones within the same second", async () => {
    for (let round = 0; round < 5; round++) {
      const own = await ownClient(["mcp.read", "mcp.write"]);
      const before = await installation.token(own);
      await everyReplicaAccepts(before);
      await narrow(own.clientId);
      const after = await installation.token(own);
      await everyReplicaRefuses(before);
      await everyReplicaAccepts(after);
    }
  });

  test("rejects a token whose scopes were read before the narrowing was committed", async () => {
    const own = await ownClient(["mcp.read", "mcp.write"]);
    let meanwhile = "";
    await narrow(own.clientId, async () => {
      meanwhile = await installation.token(own);
    });
    expect(decodeJwt(meanwhile)["scopes"]).toContain("mcp.write");
    await everyReplicaRefuses(meanwhile);
  });

  test("twice in a row still accepts the newest token", async () => {
    const own = await ownClient(["mcp.read", "mcp.write"]);
    await narrow(own.clientId);
    const between = await installation.token(own);
    await everyReplicaAccepts(between);
    await narrow(own.clientId);
    const newest = await installation.token(own);
    await everyReplicaRefuses(between);
    await everyReplicaAccepts(newest);
  });

  test("never restores tokens that were revoked permanently", async () => {
    const client = await installation.clients.create(account, "mgmt.read");
    const token = await installation.token(client);
    await installation.clients.revoke(client.clientId);
    await revoke(installation.database.pool, {
      accountId: account.id,
      kind: "client",
      subject: client.clientId,
      issuedBefore: new Date(0),
    });
    await everyReplicaRefuses(token);
    const late = await installation.startReplica();
    expect(await outcome(late.verifier, token)).toBe(REFUSED);
    await late.close();
  });
});

describe("a replica whose listener is lost", () => {
  const listenerConnections =
    "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'patchbay listener' and datname = current_database()";
  const listening =
    "select pid from pg_stat_activity where application_name = 'patchbay listener' and datname = current_database()";

  test("rejects tokens revoked meanwhile, at once and after it reconnects", async () => {
    const client = await installation.clients.create(account, "mgmt.read");
    const token = await installation.token(client);
    await everyReplicaAccepts(token);
    const { pool } = installation.database;
    // Stored without a notification, as while nobody listens.
    await pool.query("insert into revocation (account_id, kind, subject) values ($1, 'client', $2)", [
      account.id,
      client.clientId,
    ]);
    await everyReplicaAccepts(token);
    const { rowCount: lost } = await pool.query(listenerConnections);
    await everyReplicaRefuses(token);
    await until(async () => (await pool.query(listening)).rowCount === lost, { what: "every replica listens again" });
    await everyReplicaRefuses(token);
  });

  test("queries the database while the listener is lost, and accepts tokens that are not revoked", async () => {
    const deaf = listenerThatIs(() => false);
    const replica = await installation.startReplica(deaf);
    const client = await installation.clients.create(account, "mgmt.read");
    const token = await installation.token(client);
    expect(await outcome(replica.verifier, token)).toBe("accepted");
    await installation.clients.revoke(client.clientId);
    expect(await outcome(replica.verifier, token)).toBe(REFUSED);
    await replica.close();
  });

  test("reloads once notifications arrive, so that no row is missed", async () => {
    let healthy = false;
    const late = listenerThatIs(() => healthy);
    const replica = await installation.startReplica(late);
    const client = await installation.clients.create(account, "mgmt.read");
    const token = await installation.token(client);
    await installation.clients.revoke(client.clientId);
    healthy = true;
    expect(await outcome(replica.verifier, token)).toBe(REFUSED);
    await replica.close();
  });
});

test("a replica without listener and database fails with unavailable", async () => {
  const other = await startInstallation();
  const deaf = listenerThatIs(() => false);
  const replica = await other.startReplica(deaf);
  const someone = await other.newAccount();
  const token = await other.token(await other.clients.create(someone, "mgmt.read"));
  await replica.verifier.verify(`Bearer ${token}`, [other.issuer]);
  await replica.close();
  await other.close();
  await expect(replica.verifier.verify(`Bearer ${token}`, [other.issuer])).rejects.toMatchObject({
    kind: "unavailable",
  });
});

test("the issue instant of a client's token is never before a revocation that its query has seen", async () => {
  const store = createClientStore(installation.database);
  const client = await installation.clients.create(account, "mgmt.read");
  const before = await store.findForToken(client.clientId);
  await revoke(installation.database.pool, {
    accountId: account.id,
    kind: "client",
    subject: client.clientId,
    issuedBefore: new Date(Date.now() + 60_000),
  });
  const after = await store.findForToken(client.clientId);
  expect(Number(after?.issuedAt) - Number(before?.issuedAt)).toBeGreaterThan(59_000_000);
});
