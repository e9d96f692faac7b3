import { Migrator } from "@mikro-orm/migrations";
import type { EntityManager } from "@mikro-orm/postgresql";
import { loadMigrations } from "./migrations/index.ts";
import { MIGRATION_TABLE, type Orm } from "./orm.ts";

/** Runs the migrations that have not run yet, in the transaction of `em`; returns their names. */
export async function runMigrations(orm: Orm, em: EntityManager): Promise<readonly string[]> {
  orm.config.set("migrations", {
    tableName: MIGRATION_TABLE,
    migrationsList: await loadMigrations(),
    snapshot: false,
    disableForeignKeys: false,
    silent: true,
  });
  const ran = await new Migrator(orm.em).up({ transaction: em.getTransactionContext<object>() });
  return ran.map(({ name }) => name);
}
