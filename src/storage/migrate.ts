import type { Database } from "./database.ts";
import { transaction } from "./transaction.ts";

/** Names the advisory lock that one migrating replica holds; any constant will do, as long as it never changes. */
const MIGRATION_LOCK = 0x70617463;

/**
 * Brings the schema up to date: runs the migrations that have not run yet, all or none of them, and returns their names.
 *
 * Replicas that start together wait for one another here. The lock belongs to a transaction, not to a session, so that it
 * also holds behind a transaction pooler.
 */
export async function migrate(database: Database): Promise<readonly string[]> {
  return await transaction(database.pool, async (client) => {
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    const ran = await database.orm.migrator.up();
    return ran.map((migration) => migration.name);
  });
}
