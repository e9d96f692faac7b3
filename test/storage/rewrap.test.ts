import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { loadSigningKeys } from "../../src/identity/keys/signing-keys.ts";
import { openDatabase, type Database } from "../../src/storage/database.ts";
import { openInstallation } from "../../src/storage/installation.ts";
import type { MasterKey } from "../../src/storage/master-keys.ts";
import { rewrapSecrets } from "../../src/storage/rewrap.ts";
import { flowPlace } from "../../src/storage/stores/connections/authorization-request.ts";
import { SEALED_COLUMNS } from "../../src/storage/sealed-columns.ts";
import { createSealer, type Sealer } from "../../src/storage/sealing.ts";
import { secretsPlace } from "../../src/storage/stores/connections/connection-row.ts";
import { grantPlace } from "../../src/storage/stores/connections/sealed-grant.ts";
import { createSigningKeyStore } from "../../src/storage/stores/identity/signing-key.ts";
import { webhookPlace } from "../../src/storage/stores/webhooks/webhook-row.ts";
import { upstreamClientPlace } from "../../src/storage/stores/integrations/upstream-client.ts";
import { startChild } from "../support/child-process.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const ACCOUNT = "acc_of_rewrap";
const first: MasterKey = { version: 1, key: randomBytes(32) };
const second: MasterKey = { version: 2, key: randomBytes(32) };
const old = createSealer([first]);
const both = createSealer([second, first]);
const fresh = createSealer([second]);

let testDatabase: TestDatabase;
let database: Database;
let pepper: Buffer;

beforeEach(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 6 });
  ({ pepper } = await openInstallation(database, old));
  await loadSigningKeys(createSigningKeyStore(database.orm, old));
  await database.pool.query("insert into account (id, email, password_hash) values ($1, 'a@example.com', '')", [
    ACCOUNT,
  ]);
});
afterEach(async () => {
  await database.close();
  await testDatabase.close();
});

const secretOf = (id: number): string => `the secret of connection ${id}`;

/** Creates connections 1 to `count` with secrets encrypted by the given sealer. */
async function fill(count: number, sealer: Sealer = old): Promise<void> {
  const ids = Array.from({ length: count }, (_, index) => index + 1);
  await database.pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id, sealed_secrets)
     select $1, id, 'mcp', 'a connection', 'write', '{}', 'pending', 'none', sealed from unnest($2::integer[], $3::bytea[]) as row(id, sealed)`,
    [ACCOUNT, ids, ids.map((id) => sealer.seal(secretOf(id), secretsPlace(ACCOUNT, id)))],
  );
}

/** Creates three grants, two upstream clients and an authorization in progress. */
async function fillGrants(): Promise<void> {
  for (const id of ["one", "two", "three"]) {
    await database.pool.query(
      "insert into connection_grant (account_id, id, connection_id, server_type, key_version, sealed_grant) values ($1, $2, $3, 'mcp', 1, $4)",
      [ACCOUNT, id, id.length * 10 + id.charCodeAt(0), old.seal("tokens", grantPlace(ACCOUNT, id))],
    );
  }
  for (const id of ["one", "two"]) {
    const sealed = old.seal("client", upstreamClientPlace(id));
    await database.pool.query("insert into upstream_client (id, sealed_client) values ($1, $2)", [id, sealed]);
  }
  await database.pool.query(
    `insert into authorization_request (account_id, id, connection_id, ticket_hash, expires_at, sealed_flow)
     values ($1, 'one', 1, '\\x00', now(), $2)`,
    [ACCOUNT, old.seal("flow", flowPlace(ACCOUNT, "one"))],
  );
  await database.pool.query(
    `insert into webhook (account_id, id, url, event_types, sealed_secrets)
     values ($1, 'one', 'https://hooks.example.com/', '{connection.created}', $2)`,
    [ACCOUNT, old.seal("secrets", webhookPlace(ACCOUNT, "one"))],
  );
}

async function secrets(sealer: Sealer): Promise<ReadonlyMap<number, string>> {
  const { rows } = await database.pool.query<{ id: number; sealed_secrets: Buffer }>(
    "select id, sealed_secrets from connection order by id",
  );
  return new Map(rows.map(({ id, sealed_secrets }) => [id, sealer.open(sealed_secrets, secretsPlace(ACCOUNT, id))]));
}

/** Counts connections whose secret uses a key version. */
async function countUnder(version: number): Promise<number> {
  const { rows } = await database.pool.query<{ count: number }>(
    "select count(*)::integer as count from connection where substring(sealed_secrets from 2 for 4) = $1",
    [Buffer.from(version.toString(16).padStart(8, "0"), "hex")],
  );
  return rows[0]?.count ?? 0;
}

/** Byte columns without secrets. */
const OPEN_BYTES = ["openapi_document.content"];

test("every byte column is a registered encrypted secret, named as a hash, or known to contain no secret", async () => {
  const { rows } = await database.pool.query<{ place: string }>(
    `select table_name || '.' || column_name as place from information_schema.columns
     where table_schema = 'public' and data_type = 'bytea' and column_name not like '%\\_hash'`,
  );
  // Add a new encrypted column to SEALED_COLUMNS, or `keys rewrap` skips it.
  expect(rows.map(({ place }) => place).toSorted()).toEqual(
    [...SEALED_COLUMNS.map(({ table, column }) => `${table}.${column}`), ...OPEN_BYTES].toSorted(),
  );
});

test.each(SEALED_COLUMNS.map((column) => [`${column.table}.${column.column}`, column] as const))(
  "%s is registered with its whole primary key, in order",
  async (_, column) => {
    const { rows } = await database.pool.query<{ name: string; type: string }>(
      `select attname as name, format_type(atttypid, null) as type from pg_index
     join pg_attribute on attrelid = indrelid and attnum = any (indkey)
     where indrelid = $1::regclass and indisprimary order by array_position(indkey::smallint[], attnum)`,
      [column.table],
    );
    expect(column.key).toEqual(rows);
  },
);

describe("keys rewrap", () => {
  test("rewraps every secret with the newest key, so that the older one can be removed", async () => {
    await fill(1_201);
    await fillGrants();
    const report = await rewrapSecrets(database.pool, both);
    expect(report).toEqual({
      masterKeyVersion: 2,
      rewrapped: {
        "authorization_request.sealed_flow": 1,
        "connection.sealed_secrets": 1_201,
        "call_contents.sealed": 0,
        "connection_grant.sealed_grant": 3,
        "installation.sealed_pepper": 1,
        "mcp_task.sealed_state": 0,
        "relay_message.sealed_text": 0,
        "signing_key.sealed_private_jwk": 4,
        "upstream_client.sealed_client": 2,
        "webhook.sealed_secrets": 1,
      },
      failed: {},
      remaining: 0,
    });
    const opened = await secrets(fresh);
    expect(opened.size).toBe(1_201);
    for (const [id, secret] of opened) expect(secret).toBe(secretOf(id));
    expect((await openInstallation(database, fresh)).pepper).toEqual(pepper);
    expect(await createSigningKeyStore(database.orm, fresh).list()).toHaveLength(4);
  });

  test("rewraps nothing the second time and does not change secrets of the newest key", async () => {
    await fill(10, both);
    const before = await database.pool.query("select sealed_secrets from connection order by id");
    await rewrapSecrets(database.pool, both);
    expect((await database.pool.query("select sealed_secrets from connection order by id")).rows).toEqual(before.rows);
    const again = await rewrapSecrets(database.pool, both);
    expect(new Set(Object.values(again.rewrapped))).toEqual(new Set([0]));
  });

  test("rewraps with a version above 2^31", async () => {
    await fill(3);
    const huge = { version: 0xffff_ffff, key: randomBytes(32) };
    await rewrapSecrets(database.pool, createSealer([huge, first]));
    expect([...(await secrets(createSealer([huge]))).values()]).toEqual([1, 2, 3].map(secretOf));
  });

  test("keeps and reports a value that cannot be decrypted, and still requires the older key", async () => {
    await fill(600);
    await database.pool.query(
      "update connection set sealed_secrets = (select sealed_secrets from connection where id = 1) where id = 300",
    );
    const report = await rewrapSecrets(database.pool, both);
    expect(report).toMatchObject({ failed: { "connection.sealed_secrets": 1 }, remaining: 1 });
    expect(report.rewrapped["connection.sealed_secrets"]).toBe(599);
    await expect(openInstallation(database, fresh)).rejects.toThrow(/version 1, .* 1 secret would be lost/);
  });

  test("does not change a connection's version, so that concurrent changes succeed", async () => {
    await fill(1);
    const version = "select updated_at, key_version from connection";
    const before = (await database.pool.query(version)).rows;
    await rewrapSecrets(database.pool, both);
    expect((await database.pool.query(version)).rows).toEqual(before);
  });

  test("loses no secret written meanwhile by replicas with the new key or only the old one", async () => {
    const count = 1_500;
    await fill(count);
    const written = new Map<number, string>();
    let isRunning = true;
    const write = async (sealer: Sealer, offset: number): Promise<void> => {
      for (let round = 0; isRunning; round += 1) {
        const id = ((round * 97 + offset) % (count / 2)) * 2 + offset + 1;
        const secret = `written in round ${round}`;
        await database.pool.query("update connection set sealed_secrets = $2 where id = $1", [
          id,
          sealer.seal(secret, secretsPlace(ACCOUNT, id)),
        ]);
        written.set(id, secret);
      }
    };
    // One writes even ids and one odd ids, so that each knows its last value.
    const writers = [write(both, 1), write(old, 0)];
    await until(async () => written.size > 20);
    await rewrapSecrets(database.pool, both);
    isRunning = false;
    await Promise.all(writers);
    for (const [id, secret] of await secrets(both)) expect(secret).toBe(written.get(id) ?? secretOf(id));
    expect(await rewrapSecrets(database.pool, both)).toMatchObject({ remaining: 0 });
    for (const [id, secret] of await secrets(fresh)) expect(secret).toBe(written.get(id) ?? secretOf(id));
  });

  test("continues after being killed without losing a secret", async () => {
    const count = 2_000;
    await fill(count);
    const text = [second, first].map(({ version, key }) => `${version}:${key.toString("base64")}`).join(",");
    const holder = await database.pool.connect();
    // Locks a row, so that the process is killed while it waits.
    await holder.query("begin");
    await holder.query("select 1 from connection where id = 1201 for update");
    const child = await startChild({
      command: process.execPath,
      args: [fileURLToPath(new URL("../support/rewrap-process.ts", import.meta.url)), testDatabase.url, text],
    });
    await until(async () => (await countUnder(2)) === 1_000);
    await child.end("SIGKILL");
    const everything = await secrets(both);
    await holder.query("rollback");
    holder.release();
    expect(everything.size).toBe(count);
    for (const [id, secret] of everything) expect(secret).toBe(secretOf(id));
    await rewrapSecrets(database.pool, both);
    expect(await rewrapSecrets(database.pool, both)).toMatchObject({ failed: {}, remaining: 0 });
    expect(await countUnder(1)).toBe(0);
    for (const [id, secret] of await secrets(fresh)) expect(secret).toBe(secretOf(id));
  });
});

describe("a start", () => {
  test("without a key that secrets use is rejected with their count", async () => {
    await fill(41);
    await openInstallation(database, both);
    // 41 connections, 4 signing keys, the pepper.
    await expect(openInstallation(database, fresh)).rejects.toThrow(
      /^this database is encrypted with master key version 1, which PATCHBAY_KEYS .* does not contain: without it 46 secrets would be lost$/,
    );
    expect((await openInstallation(database, both)).pepper).toEqual(pepper);
  });

  test("without a newer key of another replica is rejected", async () => {
    await openInstallation(database, both);
    await expect(openInstallation(database, old)).rejects.toThrow(/version 2, .* 0 secrets would be lost/);
  });

  test("without the older key succeeds after keys rewrap, and without the newer one is rejected", async () => {
    await openInstallation(database, both);
    await rewrapSecrets(database.pool, both);
    expect((await openInstallation(database, fresh)).pepper).toEqual(pepper);
    await expect(openInstallation(database, old)).rejects.toThrow(/version 2/);
  });

  test("with both keys does not make the older one required again", async () => {
    await rewrapSecrets(database.pool, both);
    await openInstallation(database, both);
    expect((await openInstallation(database, fresh)).pepper).toEqual(pepper);
  });

  test("is rejected if an outdated replica encrypted a secret with the older key after keys rewrap", async () => {
    await rewrapSecrets(database.pool, both);
    await fill(1, old);
    await expect(openInstallation(database, fresh)).rejects.toThrow(/version 1, .* 1 secret would be lost/);
    expect((await openInstallation(database, both)).pepper).toEqual(pepper);
  });

  test("with another key of the same version is rejected without printing a key", async () => {
    const other = { version: 1, key: randomBytes(32) };
    const failure = await openInstallation(database, createSealer([other])).catch(String);
    expect(failure).toMatch(/version 1 is not the one/);
    for (const { key } of [first, other]) expect(failure).not.toContain(key.toString("base64"));
  });
});
