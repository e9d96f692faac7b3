import { setTimeout as sleep } from "node:timers/promises";
import pg from "pg";
import type { Logger } from "pino";
import { DATABASE_BOUNDS } from "./pool/bounds.ts";
import { ignoreError } from "./ignore-error.ts";
import { MIGRATION_NAMES } from "./migrations/names.ts";
import { MIGRATION_TABLE } from "./orm.ts";
import type { MigrationSource } from "./run-migrations.ts";
import { refuseContracted } from "./schema-version.ts";
import { translateDatabaseError } from "./storage-error.ts";

/** The advisory lock of the replica that migrates. Never changes, because older versions take the same one. */
const MIGRATION_LOCK = 0x70617463;

/** Loads the files only when one of the migrations has to run. */
const OWN_MIGRATIONS: MigrationSource = {
  names: MIGRATION_NAMES,
  load: async () => (await import("./migrations/index.ts")).loadMigrations(),
};

/** How often a replica checks whether another one has finished migrating, in milliseconds. */
const LOCK_POLL_MS = 100;

/**
 * Runs the migrations that have not run yet, each in its own transaction, and returns their names. Throws if a newer version
 * removed something that this version needs; any other newer schema is accepted.
 *
 * `url` is the address of PostgreSQL itself: the lock belongs to the session, which a transaction pooler would share.
 * Replicas that start together wait for the one that migrates.
 */
export async function migrate(
  url: string,
  log: Logger,
  source: MigrationSource = OWN_MIGRATIONS,
): Promise<readonly string[]> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: DATABASE_BOUNDS.connectMs,
    keepAlive: true,
    application_name: "patchbay",
  });
  // A broken connection also fails the running statement.
  client.on("error", ignoreError);
  try {
    await client.connect();
    // A limit that the operator set for requests must not interrupt building an index.
    await client.query("set statement_timeout = 0");
    const pending = () => pendingMigrations(client, source.names);
    if ((await pending()).length === 0) return [];
    // Loaded late, because most starts have no migration to run.
    const { runPending } = await import("./run-migrations.ts");
    return await runPending({
      client,
      log,
      migrations: await source.load(),
      pending,
      exclusively: (work) => holdLock(client, log, work),
    });
  } catch (error) {
    throw translateDatabaseError(error);
  } finally {
    await client.end().catch(ignoreError);
  }
}

async function pendingMigrations(client: pg.Client, names: readonly string[]): Promise<readonly string[]> {
  const applied = await appliedMigrations(client);
  refuseContracted(applied, names);
  return names.filter((name) => !applied.has(name));
}

async function appliedMigrations(client: pg.Client): Promise<ReadonlySet<string>> {
  const table = await client.query<{ name: string | null }>("select to_regclass($1)::text as name", [MIGRATION_TABLE]);
  if (table.rows[0]?.name === null) return new Set();
  const { rows } = await client.query<{ name: string }>(`select name from ${MIGRATION_TABLE}`);
  return new Set(rows.map(({ name }) => name));
}

/**
 * Runs `work` while no other replica migrates. Polls instead of waiting in PostgreSQL, because a waiting statement has a
 * snapshot, and `create index concurrently` would wait for that snapshot while it holds the lock.
 */
async function holdLock<Result>(client: pg.Client, log: Logger, work: () => Promise<Result>): Promise<Result> {
  for (let isFirst = true; !(await tryLock(client)); isFirst = false) {
    if (isFirst) log.info("another replica migrates the database; waiting for it");
    await sleep(LOCK_POLL_MS);
  }
  try {
    return await work();
  } finally {
    await client.query("select pg_advisory_unlock($1)", [MIGRATION_LOCK]).catch(ignoreError);
  }
}

async function tryLock(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query<{ isLocked: boolean }>('select pg_try_advisory_lock($1) as "isLocked"', [
    MIGRATION_LOCK,
  ]);
  return rows[0]?.isLocked === true;
}
