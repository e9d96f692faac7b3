import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { openAccounts, type TestAccounts } from "../support/accounts.ts";
import { createProtocolClient } from "../support/clients.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";
import { createOwner, type Owner } from "../support/owner.ts";
import { type Service, startService } from "../support/service.ts";
import { until } from "../support/until.ts";
import { startUpstream, type Upstream } from "../support/upstream.ts";

let database: TestDatabase;
let upstream: Upstream;
let service: Service;
let accounts: TestAccounts;
let owner: Owner;

beforeAll(async () => {
  [database, upstream] = await Promise.all([createTestDatabase(), startUpstream()]);
  service = await startService({ databaseUrl: database.url, env: { OUTBOUND_ALLOW: upstream.host } });
  accounts = await openAccounts(service.env);
  owner = createOwner(createProtocolClient("rest", service.url), await (await accounts.create()).token());
});

afterAll(async () => {
  await service?.kill();
  await accounts?.close();
  await upstream?.close();
  await database?.close();
});

/** Locks a table against all readers and writers while `during` runs. */
async function whileLocked(table: string, during: () => Promise<void>): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    await client.query(`begin; lock table ${table} in access exclusive mode`);
    await during();
    // PostgreSQL would still execute the last statement of a dead process, as after a machine failure.
    await client.query("select pg_terminate_backend(pid) from pg_locks where not granted and relation = $1::regclass", [
      table,
    ]);
    await client.query("rollback");
  } finally {
    await client.end();
  }
}

/** Returns whether a statement waits for a lock on the table. */
async function isAwaited(table: string): Promise<boolean> {
  const rows = await accounts.query("select from pg_locks where not granted and relation = $1::regclass", [table]);
  return rows.length > 0;
}

/** The number of remaining rows of a connection, by table. */
async function remains(id: string): Promise<Record<string, unknown>> {
  const [row] = await accounts.query(
    `select (select count(*)::int from connection where id = $1) as connections,
            (select count(*)::int from connection where id = $1 and sealed_secrets is not null) as secrets,
            (select count(*)::int from oauth_client where connection_id = $1 and revoked_at is null) as clients,
            (select count(*)::int from tool_list where connection_id = $1) as tool_lists,
            (select count(*)::int from session where $1 = any(called_connection_ids)) as sessions,
            (select count(*)::int from call_record where connection_id = $1) as calls,
            (select count(*)::int from connection_tombstone where connection_id = $1) as tombstones`,
    [Number(id)],
  );
  return row ?? {};
}

const WHOLE = { connections: 1, secrets: 1, clients: 1, tool_lists: 1, sessions: 1, calls: 1, tombstones: 0 };
const NOTHING = { connections: 0, secrets: 0, clients: 0, tool_lists: 0, sessions: 0, calls: 0, tombstones: 1 };

/** Creates a connection with a row in every related table. */
async function whole(): Promise<{ readonly id: string; readonly session: Readonly<Record<string, string>> }> {
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url, api_token: "some-key" } });
  await owner.waitFor(id, "verified");
  const session = await owner.open();
  await owner.call("CallTool", { name: `look_up__${id}` }, session);
  await until(async () => (await remains(id))["calls"] === 1, { what: "the call is recorded" });
  expect(await remains(id)).toEqual(WHOLE);
  return { id, session };
}

test("an interrupted verification completes after the restart", async () => {
  let release = (): void => {};
  upstream.gate = new Promise((resolve) => (release = resolve));
  const asked = upstream.asked.length;
  const id = await owner.create({ server_type: "mcp", configuration: { url: upstream.url, api_token: "some-key" } });
  await until(() => Promise.resolve(upstream.asked.length > asked), { what: "the upstream is asked" });
  await service.kill();
  const [row] = await accounts.query("select verification_status from connection where id = $1", [Number(id)]);
  expect(row).toEqual({ verification_status: "pending" });
  release();
  await service.start();
  await owner.waitFor(id, "verified");
});

test("an interrupted deletion has no effect and can be repeated", async () => {
  const { id, session } = await whole();
  await whileLocked("connection_tombstone", async () => {
    const deletion = owner.call("DeleteConnection", { server_id: id }).catch(() => undefined);
    await until(() => isAwaited("connection_tombstone"), { what: "the deletion is under way" });
    await service.kill();
    await deletion;
  });
  expect(await remains(id)).toEqual(WHOLE);
  await service.start();
  expect(await owner.call("CallTool", { name: `look_up__${id}` }, session)).toMatchObject({ isError: false });
  await owner.call("DeleteConnection", { server_id: id });
  await until(async () => (await remains(id))["calls"] === 0, { what: "the history is purged" });
  expect(await remains(id)).toEqual(NOTHING);
});

test("an interrupted purge completes after the restart, and the connection stays invisible meanwhile", async () => {
  const { id } = await whole();
  await whileLocked("call_record", async () => {
    await owner.call("DeleteConnection", { server_id: id });
    await until(() => isAwaited("call_record"), { what: "the purge is under way" });
    await service.kill();
  });
  expect(await remains(id)).toEqual({ ...NOTHING, calls: 1 });
  await service.start();
  const again = await createProtocolClient("rest", service.url).call("GetConnection", {
    token: owner.token,
    input: { server_id: id },
  });
  expect(again.status).toBe(404);
  await until(async () => (await remains(id))["calls"] === 0, { what: "the history is purged" });
  expect(await remains(id)).toEqual(NOTHING);
});

test("a session survives a crash of the service", async () => {
  const { id, session } = await whole();
  await service.kill();
  await service.start();
  expect(await owner.call("CallTool", { name: `look_up__${id}` }, session)).toMatchObject({ isError: false });
});
