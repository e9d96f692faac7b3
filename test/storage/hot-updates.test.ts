import { afterAll, beforeAll, expect, test } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { createConnectionStore } from "../../src/storage/stores/connections/connection.ts";
import { createPersonalAccessTokenStore } from "../../src/storage/stores/identity/personal-access-token.ts";
import { createSessionStore } from "../../src/storage/stores/sessions/session.ts";
import { createSealer } from "../../src/storage/sealing.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { until } from "../support/until.ts";

const ROWS = 2_000;
/** Updates a fraction of the rows, so that each change fits into the free space of its page. */
const STEP = 20;

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 4 });
  const { pool } = database;
  await pool.query("insert into account (id, email, password_hash) values ('a', 'a@example.com', '')");
  await pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
      select 'a', i, 'openapi', 'Name', 'individual', '{"spec_url": "https://example.com"}', 'verified', 'c' || i
      from generate_series(1, ${ROWS}) as i`,
  );
  await pool.query(
    `insert into session (account_id, id, client_id, protocol_version, client_info)
      select 'a', 's' || i, 'c', '2025-11-25', '{}' from generate_series(1, ${ROWS}) as i`,
  );
  await pool.query(
    `insert into personal_access_token (account_id, id, client_id, scopes)
      select 'a', 'pat_' || i, 'c', '{mgmt.read}' from generate_series(1, ${ROWS}) as i`,
  );
});

afterAll(async () => {
  await database.close();
  await testDatabase.close();
});

/** The share of a table's updates that changed no index, once all are counted. */
async function hotShare(table: string): Promise<number> {
  const row = await until(
    async () => {
      const { rows } = await database.pool.query<{ updates: number; hot: number }>(
        `select n_tup_upd as updates, n_tup_hot_upd as hot, pg_stat_clear_snapshot() from pg_stat_user_tables where relname = $1`,
        [table],
      );
      return rows[0]?.updates === ROWS / STEP && rows[0];
    },
    { what: `updates of ${table} are counted` },
  );
  return row.hot / row.updates;
}

test("common updates of connections, sessions and tokens change no index", async () => {
  const { orm, pool } = database;
  const connections = createConnectionStore({
    orm,
    pool,
    sealer: createSealer([{ version: 1, key: Buffer.alloc(32) }]),
    hashSecret: () => Buffer.alloc(0),
    maxConnections: ROWS,
    enqueueVerification: () => Promise.resolve(),
    enqueuePurge: () => Promise.resolve(),
  });
  const sessions = createSessionStore(database);
  const tokens = createPersonalAccessTokenStore(database);
  for (let id = 1; id <= ROWS; id += STEP) {
    await Promise.all([
      connections.adoptTools("a", id, [7]),
      sessions.touch("a", `s${id}`),
      tokens.touch([{ accountId: "a", id: `pat_${id}` }]),
    ]);
  }
  expect(await hotShare("connection")).toBeGreaterThan(0.9);
  expect(await hotShare("session")).toBeGreaterThan(0.9);
  expect(await hotShare("personal_access_token")).toBeGreaterThan(0.9);
});
