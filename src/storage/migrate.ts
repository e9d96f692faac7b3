import { sql } from "kysely";
import pg from "pg";
import { DATABASE_BOUNDS } from "./bounds.ts";
import { ignoreError } from "./ignore-error.ts";
import { MIGRATION_NAMES } from "./migrations/names.ts";
import { inTransaction, MIGRATION_TABLE, openOrm, type Orm, tablesOf } from "./orm.ts";

/** Names the advisory lock that one migrating replica holds; any constant will do, as long as it never changes. */
const MIGRATION_LOCK = 0x70617463;

/**
 * Brings the schema up to date: runs the migrations that have not run yet, all or none of them, and returns their names.
 *
 * Replicas that start together wait for one another here. The lock belongs to the transaction that migrates.
 */
export async function migrate(orm: Orm): Promise<readonly string[]> {
  return await inTransaction(orm, async (em) => {
    const database = tablesOf(em);
    await sql`select pg_advisory_xact_lock(${MIGRATION_LOCK})`.execute(database);
    const applied = await appliedMigrations(database);
    if (MIGRATION_NAMES.every((name) => applied.has(name))) return [];
    // Loaded only now: most starts find nothing to do.
    const { runMigrations } = await import("./run-migrations.ts");
    return await runMigrations(orm, em);
  });
}

/**
 * Migrates on a separate connection, without a time limit. `url` is the address of PostgreSQL itself: replicas that wait
 * behind a pooler would take the connections that the others need.
 */
export async function migrateAt(url: string): Promise<readonly string[]> {
  const pool = new pg.Pool({
    connectionString: url,
    connectionTimeoutMillis: DATABASE_BOUNDS.connectMs,
    keepAlive: true,
    application_name: "patchbay",
    max: 2,
  });
  pool.on("error", ignoreError);
  pool.on("connect", (client) => client.on("error", ignoreError));
  try {
    return await migrate(openOrm(pool));
  } finally {
    await pool.end();
  }
}

async function appliedMigrations(database: ReturnType<typeof tablesOf>): Promise<ReadonlySet<string>> {
  const table = await sql<{ name: string | null }>`select to_regclass(${MIGRATION_TABLE})::text as name`.execute(
    database,
  );
  if (table.rows[0]?.name === null) return new Set();
  const { rows } = await sql<{ name: string }>`select name from ${sql.table(MIGRATION_TABLE)}`.execute(database);
  return new Set(rows.map(({ name }) => name));
}
