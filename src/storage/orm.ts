import { Migrator } from "@mikro-orm/migrations";
import { MikroORM } from "@mikro-orm/postgresql";
import pg from "pg";
import { entities } from "./entities/index.ts";
import { ignoreError } from "./ignore-error.ts";
import { migrations } from "./migrations/index.ts";

/** It migrates and compares schemas, nothing more, so it keeps few connections and none while idle. */
const POOL_SIZE = 2;

/** The ORM with our entities and migrations; connects when first used. Loading it costs more than the rest of the service. */
export async function openOrm(url: string) {
  return await MikroORM.init({
    // The driver reads the whole address; MikroORM would leave out sslmode, a socket as host, and so on.
    dbName: new pg.Client({ connectionString: url }).database ?? "",
    driverOptions: { connectionString: url },
    entities,
    extensions: [Migrator],
    pool: { min: 0, max: POOL_SIZE, idleTimeoutMillis: 10_000 },
    // It would print to the console; what goes wrong comes out as an error.
    logger: ignoreError,
    schemaGenerator: { skipTables: ["migration"] },
    migrations: {
      tableName: "migration",
      migrationsList: [...migrations],
      snapshot: false,
      transactional: true,
      allOrNothing: true,
      disableForeignKeys: false,
      silent: true,
    },
  });
}
