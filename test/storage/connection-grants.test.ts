import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { OPERATOR } from "../../src/identity/actor.ts";
import type { Connection } from "../../src/connections/connection.ts";
import type {
  ConnectionGrants,
  EndedGrants,
  NewUpstreamGrant,
} from "../../src/connections/authorization/connection-grants.ts";
import type { ConnectionStore } from "../../src/connections/connection-store.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createAccountStore } from "../../src/storage/stores/identity/account.ts";
import { createAdministrationStore } from "../../src/storage/stores/identity/administration.ts";
import { createPurgeAccount } from "../../src/storage/stores/identity/purge-account.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createUpstreamGrantStore } from "../../src/storage/stores/connections/connection-grant.ts";
import {
  createConnectionGrants,
  createEndedGrants,
  revokeGrants,
} from "../../src/storage/stores/connections/connection-grant-write.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
let testDatabase: TestDatabase;
let database: Database;
let store: ConnectionStore;
let grants: ConnectionGrants & EndedGrants;
const enqueued: string[] = [];

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 8 });
  await database.pool.query("insert into account (id, email, password_hash) values ('acc_a', 'a@example.com', '')");
  const enqueueVerification = async (_client: unknown, { id, keyVersion }: Connection): Promise<void> => {
    await Promise.resolve();
    enqueued.push(`verify ${id}/${keyVersion}`);
  };
  const { orm, pool } = database;
  store = createConnectionStore({
    orm,
    pool,
    sealer,
    hashSecret: (secret) => Buffer.from(secret),
    maxConnections: 20,
    enqueueVerification,
    endAuthorization: (client, accountId, id) => revokeGrants(client, accountId, id, enqueueRevocation),
    enqueuePurge: () => Promise.resolve(),
  });
  grants = {
    ...createConnectionGrants({ orm, sealer, enqueueVerification, enqueueRevocation }),
    ...createEndedGrants({ orm, sealer }),
  };
});
afterAll(async () => {
  await database.close();
  await testDatabase.close();
});
beforeEach(async () => {
  await database.pool.query("delete from connection");
  await database.pool.query("delete from connection_grant");
});

/** Creates a connection that waits for its owner's login. */
async function waiting(): Promise<Connection> {
  const connection = await store.create(
    {
      accountId: "acc_a",
      serverType: "mcp",
      name: "Vendor",
      description: "",
      accessType: "write",
      configuration: { url: "https://mcp.vendor.example/mcp" },
      secrets: {},
      hasCredential: false,
      statusReason: "Its owner has not authorized it yet.",
      acceptToolChanges: "manual",
      authMethod: "oauth2",
      needsAuthorization: true,
    },
    OPERATOR,
  );
  enqueued.length = 0;
  return connection;
}

function grantOf({ id, keyVersion }: Connection, turn = 1, issuer = "https://vendor.example"): NewUpstreamGrant {
  return {
    accountId: "acc_a",
    connectionId: id,
    serverType: "mcp",
    keyVersion,
    terms: {
      title: "A vendor",
      server: {
        issuer,
        authorizationEndpoint: `${issuer}/authorize`,
        tokenEndpoint: `${issuer}/token`,
        revocationEndpoint: `${issuer}/revoke`,
        sendsIssuer: false,
      },
      client: { clientId: "us", clientSecret: undefined, authentication: "none", source: "document" },
      callbackPath: "/authorizations/callback",
      resource: undefined,
      scope: undefined,
      extra: {},
      audience: "https://mcp.vendor.example",
    },
    tokens: {
      accessToken: `access ${turn}`,
      refreshToken: `refresh ${turn}`,
      expiresAtMs: undefined,
      scope: undefined,
    },
  };
}

const enqueueRevocation = async (_client: unknown, accountId: string, id: number): Promise<void> => {
  await Promise.resolve();
  enqueued.push(`revoke ${accountId}/${id}`);
};

const inForce = (id: number) =>
  createUpstreamGrantStore({ reads: database.pool, pool: database.pool, sealer }).find("acc_a", id);

describe("the tokens of an owner's login", () => {
  test("increment the key version, schedule a verification and are audited", async () => {
    const connection = await waiting();
    const stored = await grants.storeGrant(grantOf(connection), { ...OPERATOR, address: "192.0.2.7" });
    expect(stored).toMatchObject({
      keyVersion: 2,
      authMethod: "oauth2",
      needsAuthorization: false,
      verificationStatus: "pending",
      statusReason: undefined,
    });
    expect(await store.find("acc_a", connection.id)).toEqual(stored);
    expect(enqueued).toEqual([`verify ${connection.id}/2`]);
    expect(await inForce(connection.id)).toMatchObject({ keyVersion: 2, tokens: { accessToken: "access 1" } });
    const { rows } = await database.pool.query(
      "select action, object_id, object_name, address from audit_event order by id desc limit 1",
    );
    expect(rows).toEqual([
      { action: "connection.authorize", object_id: String(connection.id), object_name: "Vendor", address: "192.0.2.7" },
    ]);
  });

  test("replace the previous tokens, which are not revoked if that would invalidate the new ones", async () => {
    const connection = await waiting();
    const first = await grants.storeGrant(grantOf(connection), OPERATOR);
    const second = await grants.storeGrant(grantOf(first ?? connection, 2), OPERATOR);
    expect(enqueued).toEqual([`verify ${connection.id}/2`, `verify ${connection.id}/3`]);
    expect(await inForce(connection.id)).toMatchObject({ keyVersion: 3, tokens: { accessToken: "access 2" } });
    expect(await grants.endUnused("acc_a", connection.id)).toEqual([]);

    await grants.storeGrant(grantOf(second ?? connection, 3, "https://other.example"), OPERATOR);
    expect(enqueued).toContain(`revoke acc_a/${connection.id}`);
    expect(await inForce(connection.id)).toMatchObject({ tokens: { accessToken: "access 3" } });
    const ended = await grants.endUnused("acc_a", connection.id);
    expect(ended).toMatchObject([{ tokens: { accessToken: "access 2" } }]);
    await grants.dropEnded("acc_a", ended[0]?.id ?? "");
    expect(await grants.endUnused("acc_a", connection.id)).toEqual([]);
  });

  test("are revoked without another effect if the connection has changed", async () => {
    const connection = await waiting();
    const first = await grants.storeGrant(grantOf(connection), OPERATOR);
    enqueued.length = 0;
    expect(await grants.storeGrant(grantOf(connection, 2), OPERATOR)).toBeUndefined();
    expect(enqueued).toEqual([`revoke acc_a/${connection.id}`]);
    expect(await store.find("acc_a", connection.id)).toEqual(first);
    expect(await grants.endUnused("acc_a", connection.id)).toMatchObject([{ tokens: { accessToken: "access 2" } }]);
    expect(await inForce(connection.id)).toMatchObject({ tokens: { accessToken: "access 1" } });
  });

  test("are revoked when the connection is deleted, which does not wait for a running renewal", async () => {
    const connection = await waiting();
    await grants.storeGrant(grantOf(connection), OPERATOR);
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let isAsked = (): void => {};
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    const renewing = createUpstreamGrantStore({ reads: database.pool, pool: database.pool, sealer }).renew(
      "acc_a",
      connection.id,
      1,
      async () => {
        isAsked();
        await answered;
        return { kind: "renewed", tokens: grantOf(connection, 2).tokens };
      },
    );
    await asked;
    expect(await store.delete("acc_a", connection.id, OPERATOR)).toBe(true);
    expect(enqueued).toContain(`revoke acc_a/${connection.id}`);
    const ending = grants.endUnused("acc_a", connection.id);
    answer();
    await renewing;
    // The tokens of the running renewal, not the used ones.
    expect(await ending).toMatchObject([{ tokens: { accessToken: "access 2", refreshToken: "refresh 2" } }]);
    expect(await inForce(connection.id)).toBeUndefined();
  });

  test("are revoked when their account is purged", async () => {
    const connection = await waiting();
    await grants.storeGrant(grantOf(connection), OPERATOR);
    await database.pool.query("update account set disabled_at = now() where id = 'acc_a'");
    const purgeAccount = createPurgeAccount(database.orm, enqueueRevocation);
    const administration = createAdministrationStore(database.orm, createAccountStore(database.orm), purgeAccount);
    expect(await administration.purge("acc_a", OPERATOR)).toBe("purged");
    expect(enqueued).toContain(`revoke acc_a/${connection.id}`);
    expect(await grants.endUnused("acc_a", connection.id)).toMatchObject([{ tokens: { accessToken: "access 1" } }]);
    await database.pool.query("insert into account (id, email, password_hash) values ('acc_a', 'a@example.com', '')");
  });

  test("are not stored for a connection of another account", async () => {
    const connection = await waiting();
    await database.pool.query(
      "insert into account (id, email, password_hash) values ('acc_b', 'b@example.com', '') on conflict do nothing",
    );
    expect(await grants.storeGrant({ ...grantOf(connection), accountId: "acc_b" }, OPERATOR)).toBeUndefined();
    expect(await inForce(connection.id)).toBeUndefined();
    expect(await grants.endUnused("acc_b", connection.id)).toHaveLength(1);
  });
});
