import type { Constructor } from "@mikro-orm/core";
import { Migration } from "@mikro-orm/migrations";
import pg from "pg";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { migrate } from "../../src/storage/migrate.ts";
import { ConcurrentMigration } from "../../src/storage/migrations/concurrent-migration.ts";
import { MIGRATION_NAMES } from "../../src/storage/migrations/names.ts";
import type { MigrationSource } from "../../src/storage/run-migrations.ts";
import { createTestDatabase, type TestDatabase } from "../support/database.ts";

const log = pino({ level: "silent" });
const WAIT = { timeout: 20_000, interval: 20 };
/** The advisory lock that every version takes. */
const MIGRATION_LOCK = 0x70617463;

let database: TestDatabase;
let clients: pg.Client[];

beforeEach(async () => {
  database = await createTestDatabase();
  clients = [];
});

afterEach(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await database.close();
});

async function connect(): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  clients.push(client);
  return client;
}

/** The service's own migrations, followed by one more. */
function withOneMore(name: string, type: Constructor<Migration>): MigrationSource {
  return { names: [...MIGRATION_NAMES, name], load: () => Promise.resolve([{ name, class: type }]) };
}

class AddKind extends Migration {
  override up(): void {
    this.addSql("alter table account add column color text not null default 'person'");
  }
}

class IndexPasswords extends ConcurrentMigration {
  override up(): void {
    this.addSql("create unique index concurrently if not exists account_password on account (password_hash)");
  }
}

const insertAccount = "insert into account (id, email, password_hash) values ($1, $1, $2)";

async function waitForStatement(client: pg.Client, start: string): Promise<void> {
  await vi.waitFor(async () => {
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity
       where datname = current_database() and query like $1 || '%' and wait_event_type is not null`,
      [start],
    );
    expect(rowCount).toBe(1);
  }, WAIT);
}

async function indexStates(client: pg.Client): Promise<unknown[]> {
  const { rows } = await client.query<{ indisvalid: boolean }>(
    "select indisvalid from pg_index where indexrelid = to_regclass('account_password')",
  );
  return rows.map(({ indisvalid }) => indisvalid);
}

describe("a migration in a transaction", () => {
  test("lets requests continue while it waits for a lock, and runs once it gets the lock", async () => {
    const holder = await connect();
    const reader = await connect();
    await holder.query("begin");
    await holder.query("lock table account in share mode");
    const retries = vi.fn();
    const counting = pino({ level: "warn" }, { write: retries });
    const migrated = migrate(database.url, counting, withOneMore("9000_add_kind", AddKind));
    // This read queues behind the migration. It ends although the lock is still held, because the attempt is given up.
    await waitForStatement(reader, "alter table account add column color");
    await reader.query("select id from account");
    await vi.waitFor(() => expect(retries).toHaveBeenCalled(), WAIT);
    await holder.query("commit");
    expect(await migrated).toEqual(["9000_add_kind"]);
    await reader.query("select color from account");
  });

  test("is rolled back completely when a statement fails, and keeps the migrations before it", async () => {
    class Fails extends Migration {
      override up(): void {
        this.addSql("create table half (id text)");
        this.addSql("select 1 / 0");
      }
    }
    const source = {
      names: [...MIGRATION_NAMES, "9000_add_kind", "9001_fails"],
      load: () =>
        Promise.resolve([
          { name: "9000_add_kind", class: AddKind },
          { name: "9001_fails", class: Fails },
        ]),
    };
    await expect(migrate(database.url, log, source)).rejects.toThrow("division by zero");
    const client = await connect();
    const { rows } = await client.query(
      "select name, to_regclass('half')::text as half from migration order by id desc limit 1",
    );
    expect(rows).toEqual([{ name: "9000_add_kind", half: null }]);
  });
});

describe("a migration outside a transaction", () => {
  test("replaces the invalid index that an interrupted build left behind", async () => {
    const client = await connect();
    await client.query(insertAccount, ["a", "same"]);
    await client.query(insertAccount, ["b", "same"]);
    const source = withOneMore("9000_index_passwords", IndexPasswords);
    await expect(migrate(database.url, log, source)).rejects.toMatchObject({ code: "23505" });
    expect(await indexStates(client)).toEqual([false]);
    await client.query("update account set password_hash = id");
    expect(await migrate(database.url, log, source)).toEqual(["9000_index_passwords"]);
    expect(await indexStates(client)).toEqual([true]);
  });

  test("does not block writes while it builds", async () => {
    const older = await connect();
    await older.query("begin isolation level repeatable read");
    await older.query("select id from account");
    const migrated = migrate(database.url, log, withOneMore("9000_index_passwords", IndexPasswords));
    const writer = await connect();
    await waitForStatement(writer, "create unique index concurrently");
    await writer.query(insertAccount, ["c", "c"]);
    await older.query("commit");
    expect(await migrated).toEqual(["9000_index_passwords"]);
  });

  test("finishes although a replica of an older version waits for the lock in a transaction", async () => {
    const older = await connect();
    const waiter = await connect();
    await older.query("begin isolation level repeatable read");
    await older.query("select id from account");
    const migrated = migrate(database.url, log, withOneMore("9000_index_passwords", IndexPasswords));
    const observer = await connect();
    await waitForStatement(observer, "create unique index concurrently");
    // PostgreSQL then cancels the build, not the waiting replica, which runs code that does not retry.
    await waiter.query("set deadlock_timeout = '1h'");
    await waiter.query("begin");
    const locked = waiter.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    await waitForStatement(observer, "select pg_advisory_xact_lock");
    await older.query("commit");
    await locked;
    await waiter.query("commit");
    expect(await migrated).toEqual(["9000_index_passwords"]);
    expect(await indexStates(observer)).toEqual([true]);
  });
});

describe("a database that is ahead", () => {
  test("is accepted, without a wait for the replica that migrates it", async () => {
    const client = await connect();
    await client.query("insert into migration (name) values ('9000_add_kind'), ('9001_contract_0035_drop_it')");
    await client.query("select pg_advisory_lock($1)", [MIGRATION_LOCK]);
    expect(await migrate(database.url, log)).toEqual([]);
  });

  test("is refused if it lacks something that this version uses", async () => {
    const client = await connect();
    await client.query("insert into migration (name) values ('9000_add_kind'), ('9001_contract_9000_drop_it')");
    await expect(migrate(database.url, log)).rejects.toThrow(
      "this version is too old for the database: a newer one ran the migration 9001_contract_9000_drop_it, which removed " +
        "something that versions without migration 9000 use. Start a version that has migration 9000",
    );
  });
});
