import { MikroORM } from "@mikro-orm/postgresql";
import { Migrator } from "@mikro-orm/migrations";
import pg from "pg";
import { entities } from "./entities/index.ts";
import { ignoreError } from "./ignore-error.ts";
import { migrations } from "./migrations/index.ts";

/** The ORM over our entities. */
export type Orm = Awaited<ReturnType<typeof openOrm>>;

/** The pool for hot reads and hand-written SQL, and the ORM for schema, migrations and multi-entity writes. */
export interface Database {
  readonly pool: pg.Pool;
  readonly orm: Orm;
  /** Ends every connection; later calls fail. */
  close(): Promise<void>;
}

/** PostgreSQL's type `int8`. */
const INT8_OID = 20;

/** How long a caller waits for a free or a new connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** The ORM takes part in migrations and rare writes only, so it keeps few connections and none while idle. */
const ORM_POOL_SIZE = 4;

/** `int8` as a number: every such column counts or identifies far below 2^53. */
function typeParsers(): pg.CustomTypesConfig {
  const overrides = new pg.TypeOverrides();
  overrides.setTypeParser(INT8_OID, Number);
  return overrides;
}

/** The ORM with our entities and migrations; connects when first used. */
async function openOrm(url: string) {
  return await MikroORM.init({
    // The driver reads the whole address; MikroORM would leave out sslmode, a socket as host, and so on.
    dbName: new pg.Client({ connectionString: url }).database ?? "",
    driverOptions: { connectionString: url },
    entities,
    extensions: [Migrator],
    pool: { min: 0, max: ORM_POOL_SIZE, idleTimeoutMillis: 10_000 },
    // Stores fork an entity manager for each unit of work; sharing one would share its identity map.
    allowGlobalContext: false,
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

/**
 * Opens the pool (`poolSize` connections at most, 2 at least) and the ORM on one database; connects lazily.
 *
 * Both outlive a restart of PostgreSQL: a connection that breaks is discarded and the next caller gets a new one.
 */
export async function openDatabase(options: { readonly url: string; readonly poolSize: number }): Promise<Database> {
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    idleTimeoutMillis: 30_000,
    keepAlive: true,
    application_name: "patchbay",
    types: typeParsers(),
  });
  // Without a listener an 'error' event ends the process. The pool discards an idle client that broke, and the query or
  // transaction that holds a client fails by itself, so there is nothing else to do. A client in use needs a listener of its own.
  pool.on("error", ignoreError);
  pool.on("connect", (client) => client.on("error", ignoreError));

  const orm = await openOrm(options.url);
  return {
    pool,
    orm,
    async close() {
      await Promise.all([pool.end(), orm.close()]);
    },
  };
}
