import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type Database, openDatabase } from "../../src/storage/database.ts";
import { openOrm } from "../../src/storage/orm.ts";
import { createPersonalAccessTokenStore } from "../../src/storage/stores/identity/personal-access-token.ts";
import { createRevocationStore } from "../../src/storage/stores/identity/revocation.ts";
import { readInstallationStatus } from "../../src/storage/stores/identity/system-status.ts";
import { connectionsWithAcceptedDefinitions } from "../../src/storage/stores/integrations/document-connections.ts";
import { createDocumentStore } from "../../src/storage/stores/integrations/openapi-document.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { explain, indexesIn, scannedIn } from "../support/explain.ts";

const ROWS = 20_000;

let testDatabase: TestDatabase;
let database: Database;

beforeAll(async () => {
  testDatabase = await createTestDatabase();
  database = await openDatabase({ url: testDatabase.url, poolSize: 2 });
  const { pool } = database;
  await pool.query(
    `insert into account (id, email, password_hash, disabled_at)
      select 'a' || i, i || '@example.com', '', case when i % 100 = 0 then now() end from generate_series(1, 2000) as i`,
  );
  await pool.query(
    `insert into connection (account_id, id, server_type, name, access_type, configuration, verification_status, oauth_client_id)
      select 'a' || (1 + i % 2000), i, case when i % 2 = 0 then 'openapi' else 'mcp' end, 'Name', 'read',
        case when i % 4 = 0 then jsonb_build_object('spec', 'sha256:' || i)
          else jsonb_build_object('spec_url', 'https://example.com/' || i, 'filler', repeat('x', 200)) end,
        case i % 50 when 0 then 'failed' when 1 then 'pending' else 'verified' end, 'c' || i
      from generate_series(1, ${ROWS}) as i`,
  );
  await pool.query("insert into tool_pin_set (digest, names, definitions) values ('pins', '{}', '{}')");
  await pool.query("update connection set tool_pins = 'pins' where server_type = 'openapi'");
  await pool.query(
    `insert into personal_access_token (account_id, id, client_id, scopes)
      select 'a' || (1 + i % 2000), 'pat_' || i, 'pat_' || i, '{mgmt.read}' from generate_series(1, ${ROWS}) as i`,
  );
  await pool.query(
    `insert into openapi_document (digest, content, tool_names, used_at)
      select i::text, '', '{}', now() - interval '2 days' from generate_series(1, 100) as i`,
  );
  await pool.query(
    "insert into openapi_source (url, digest, due_at, used_at) values ('https://x', '1', now(), now() - interval '99 days')",
  );
  await pool.query(
    `insert into revocation (account_id, kind, subject, expires_at)
      select 'a1', 'token', 'pat_' || i, now() + i * interval '1 second' - interval '5 hours' from generate_series(1, ${ROWS}) as i`,
  );
  await pool.query("vacuum analyze");
});

afterAll(async () => {
  await database.close();
  await testDatabase.close();
});

describe("with large tables", () => {
  test("the connections of a document's address are found by an index", async () => {
    const plans = await explain(database.pool, (pool) =>
      connectionsWithAcceptedDefinitions(openOrm(pool), "https://example.com/42"),
    );
    expect(indexesIn(plans)).toContain("connection_spec_url");
    expect(scannedIn(plans)).not.toContain("connection");
  });

  test("documents and addresses that no connection uses are found by indexes", async () => {
    const plans = await explain(database.pool, (pool) => createDocumentStore(openOrm(pool)).purge());
    expect(indexesIn(plans)).toContain("connection_spec_url");
    expect(indexesIn(plans)).toContain("connection_spec");
    expect(scannedIn(plans)).not.toContain("connection");
  });

  test("the owner of a personal access token is found by an index", async () => {
    const plans = await explain(database.pool, (pool) =>
      createPersonalAccessTokenStore({ orm: openOrm(pool), pool }).findOwner("pat_42"),
    );
    expect(indexesIn(plans)).toContain("personal_access_token_id");
    expect(scannedIn(plans)).not.toContain("personal_access_token");
  });

  test("the status counts connections and disabled accounts in indexes", async () => {
    await database.pool.query("create schema pgboss");
    await database.pool.query("create table pgboss.job (name text, state text)");
    const plans = await explain(database.pool, async (pool) => {
      expect(await readInstallationStatus(pool)).toMatchObject({
        accounts: 2_000,
        disabledAccounts: 20,
        connections: ROWS,
        failedConnections: ROWS / 50,
        verifiedConnections: (ROWS / 50) * 48,
      });
    });
    expect(indexesIn(plans)).toContain("connection_unverified");
    expect(indexesIn(plans)).toContain("account_disabled");
    expect(scannedIn(plans)).not.toContain("connection");
  });

  test("a reload of revocations reads only current rows, by an index", async () => {
    const plans = await explain(database.pool, (pool) => createRevocationStore(pool).listInForce());
    expect(indexesIn(plans)).toContain("revocation_expiry");
    expect(scannedIn(plans)).not.toContain("revocation");
  });
});
