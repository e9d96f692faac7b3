import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { AuthorizationTerms } from "../../src/integrations/authorization.ts";
import type { StoredTokens } from "../../src/integrations/oauth/grant.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createUpstreamGrantStore } from "../../src/storage/stores/connections/connection-grant.ts";
import { sealGrant } from "../../src/storage/stores/connections/sealed-grant.ts";
import { createUpstreamClientStore } from "../../src/storage/stores/integrations/upstream-client.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const ACCOUNT = "acc_of_grants";
const CONNECTION = 7;
const sealer = createSealer([{ version: 1, key: randomBytes(32) }]);
const TERMS: AuthorizationTerms = {
  title: "A vendor",
  server: {
    issuer: "https://vendor.example",
    authorizationEndpoint: "https://vendor.example/authorize",
    tokenEndpoint: "https://vendor.example/token",
    revocationEndpoint: undefined,
    sendsIssuer: true,
  },
  client: {
    clientId: "us",
    clientSecret: "the secret of the client",
    authentication: "client_secret_basic",
    source: "registered",
  },
  callbackPath: "/authorizations/callback",
  resource: "https://mcp.vendor.example/mcp",
  scope: "read",
  extra: { prompt: "consent" },
  audience: "https://mcp.vendor.example",
};
const tokens = (turn: number): StoredTokens => ({
  accessToken: `access ${turn}`,
  refreshToken: `refresh ${turn}`,
  expiresAtMs: 1_000 * turn,
  scope: "read",
});

let testDatabase: TestDatabase;
let database: Database;
let replica: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  [database, replica] = (await Promise.all([1, 2].map(() => openDatabase({ url: testDatabase.url, poolSize: 4 })))) as [
    Database,
    Database,
  ];
});
afterAll(async () => {
  await Promise.all([database.close(), replica.close()]);
  await testDatabase.close();
});
beforeEach(async () => {
  await database.pool.query("delete from connection_grant");
  await database.pool.query(
    "insert into connection_grant (account_id, id, connection_id, server_type, key_version, sealed_grant) values ($1, 'g', $2, 'mcp', 1, $3)",
    [ACCOUNT, CONNECTION, sealGrant(sealer, ACCOUNT, "g", { terms: TERMS, tokens: tokens(1) })],
  );
});

const storeOn = ({ pool }: Database) => createUpstreamGrantStore({ reads: pool, pool, sealer });

describe("a grant", () => {
  test("is found only by its own account", async () => {
    const found = await storeOn(database).find(ACCOUNT, CONNECTION);
    expect(found).toEqual({
      id: "g",
      keyVersion: 1,
      version: 1,
      terms: TERMS,
      tokens: tokens(1),
      lostReason: undefined,
    });
    expect(await storeOn(database).find("acc_other", CONNECTION)).toBeUndefined();
    expect(await storeOn(database).find(ACCOUNT, 8)).toBeUndefined();
  });

  test("cannot be decrypted in another account's row", async () => {
    await database.pool.query("update connection_grant set account_id = 'acc_thief'");
    await expect(storeOn(database).find("acc_thief", CONNECTION)).rejects.toThrow(/changed or belongs elsewhere/);
  });

  test("is renewed once by concurrent replicas, which all get the new token", async () => {
    let renewals = 0;
    const renew = async () => {
      renewals += 1;
      await sleep(30);
      return { kind: "renewed", tokens: tokens(2) } as const;
    };
    const wanting = [database, replica, database, replica].map((one) =>
      storeOn(one).renew(ACCOUNT, CONNECTION, 1, renew),
    );
    const found = await Promise.all(wanting);
    expect(renewals).toBe(1);
    for (const grant of found) expect(grant).toMatchObject({ version: 2, tokens: tokens(2) });
    expect(await storeOn(replica).find(ACCOUNT, CONNECTION)).toMatchObject({ version: 2, tokens: tokens(2) });
  });

  test("that failed finally is not renewed again, and states the reason", async () => {
    let renewals = 0;
    const lose = () => {
      renewals += 1;
      return Promise.resolve({ kind: "lost", reason: "It was revoked." } as const);
    };
    const wanting = [database, replica].map((one) => storeOn(one).renew(ACCOUNT, CONNECTION, 1, lose));
    for (const grant of await Promise.all(wanting)) expect(grant).toMatchObject({ lostReason: "It was revoked." });
    expect(await storeOn(replica).renew(ACCOUNT, CONNECTION, 2, lose)).toMatchObject({ lostReason: "It was revoked." });
    expect(renewals).toBe(1);
  });

  test("is unchanged if the authorization server does not respond", async () => {
    const fail = () => Promise.reject(new Error("no answer"));
    await expect(storeOn(database).renew(ACCOUNT, CONNECTION, 1, fail)).rejects.toThrow("no answer");
    expect(await storeOn(database).find(ACCOUNT, CONNECTION)).toMatchObject({ version: 1, tokens: tokens(1) });
  });

  test("is stored even if the database disconnects between the server's response and the commit", async () => {
    const renewed = await storeOn(database).renew(ACCOUNT, CONNECTION, 1, async () => {
      await replica.pool.query(
        `select pg_terminate_backend(pid) from pg_stat_activity
         where datname = current_database() and state = 'idle in transaction'`,
      );
      return { kind: "renewed", tokens: tokens(2) };
    });
    expect(renewed).toMatchObject({ version: 2, tokens: tokens(2) });
    expect(await storeOn(replica).find(ACCOUNT, CONNECTION)).toMatchObject({ version: 2, tokens: tokens(2) });
  });

  test("does not wait for a replica without a database connection, whose lock ends with it", async () => {
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const cutOff = storeOn(replica).renew(ACCOUNT, CONNECTION, 1, async () => {
      await answered;
      return { kind: "renewed", tokens: tokens(3) };
    });
    await until(
      async () => {
        const { rowCount } = await database.pool.query(
          `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database()
           and state = 'idle in transaction' and query like '%for update'`,
        );
        return rowCount === 1;
      },
      { what: "the holder of the lock is gone" },
    );
    const renewed = await storeOn(database).renew(ACCOUNT, CONNECTION, 1, () =>
      Promise.resolve({ kind: "renewed", tokens: tokens(2) }),
    );
    expect(renewed?.tokens).toEqual(tokens(2));
    // If that replica continues, it uses the stored tokens.
    answer();
    expect((await cutOff)?.tokens).toEqual(tokens(2));
  });
});

describe("a registration at an authorization server", () => {
  const client = { clientId: "dcr-1", clientSecret: undefined, authentication: "none", source: "registered" } as const;

  test("is stored per issuer and redirect URI, and the first one is used", async () => {
    const clients = createUpstreamClientStore({ orm: database.orm, sealer });
    expect(await clients.find({ issuer: "https://a.example", redirectUri: "https://us.example/cb" })).toBeUndefined();
    expect(
      await clients.keep({ issuer: "https://a.example", redirectUri: "https://us.example/cb" }, client, undefined),
    ).toEqual(client);
    const second = {
      clientId: "dcr-2",
      clientSecret: "secret",
      authentication: "client_secret_post",
      source: "registered",
    } as const;
    expect(
      await clients.keep({ issuer: "https://a.example", redirectUri: "https://us.example/cb" }, second, undefined),
    ).toEqual(client);
    expect(
      await clients.find({ issuer: "https://a.example", redirectUri: "https://us.example/other" }),
    ).toBeUndefined();
    expect(
      await clients.keep({ issuer: "https://b.example", redirectUri: "https://us.example/cb" }, second, undefined),
    ).toEqual(second);
  });

  test("is deleted once the server rejects it, so that another can be stored", async () => {
    const clients = createUpstreamClientStore({ orm: database.orm, sealer });
    await clients.keep(
      { issuer: "https://c.example", redirectUri: "https://us.example/cb" },
      client,
      new Date(Date.now() - 1_000),
    );
    expect(await clients.find({ issuer: "https://c.example", redirectUri: "https://us.example/cb" })).toBeUndefined();
    const second = { ...client, clientId: "dcr-2" };
    expect(
      await clients.keep({ issuer: "https://c.example", redirectUri: "https://us.example/cb" }, second, undefined),
    ).toEqual(second);
    await clients.forget({ issuer: "https://c.example", redirectUri: "https://us.example/cb" }, "dcr-1");
    expect(await clients.find({ issuer: "https://c.example", redirectUri: "https://us.example/cb" })).toEqual(second);
    await clients.forget({ issuer: "https://c.example", redirectUri: "https://us.example/cb" }, "dcr-2");
    expect(await clients.find({ issuer: "https://c.example", redirectUri: "https://us.example/cb" })).toBeUndefined();
  });
});

test("stored rows contain no readable token or secret", async () => {
  const { rows } = await database.pool.query<{ text: string }>(
    "select connection_grant::text as text from connection_grant union all select upstream_client::text from upstream_client",
  );
  const all = rows.map(
    ({ text }) => Buffer.from(text.replace(/^.*\\\\x([0-9a-f]+).*$/, "$1"), "hex").toString() + text,
  );
  for (const text of all) expect(text).not.toMatch(/access 1|refresh 1|secret of the client|dcr-/);
});
