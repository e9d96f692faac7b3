import pg from "pg";
import { ignoreError } from "./ignore-error.ts";
import { openOrm, type Orm } from "./orm.ts";
import { createReads, type Reads } from "./reads.ts";

/** The service's way into its database. */
export interface Database {
  readonly pool: pg.Pool;
  /** Entities and the query builder, on the pool. */
  readonly orm: Orm;
  /** For short reads by key on the hot paths, beside the pool. */
  readonly reads: Reads;
  /** The address it was opened with. */
  readonly url: string;
  /** Ends every connection; later calls fail. */
  close(): Promise<void>;
}

/** PostgreSQL's type `int8`. */
const INT8_OID = 20;

/** More of them make the batches smaller; fewer make more queries wait behind a server process that is slow to be scheduled. */
const READ_CONNECTIONS = 6;

/** How long a caller waits for a free or a new connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** A moment in UTC, as PostgreSQL writes it. */
const UTC_MOMENT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00$/;

/**
 * `int8` as a number: every such column counts or identifies far below 2^53. Moments by the engine's own reading of
 * ISO 8601, at half the price of the driver's.
 */
function typeParsers(): pg.CustomTypesConfig {
  const overrides = new pg.TypeOverrides();
  // eslint-disable-next-line @typescript-eslint/no-unsafe-assignment -- the driver's types say nothing of what its parsers are.
  const readMoment: (text: string) => unknown = pg.types.getTypeParser(pg.types.builtins.TIMESTAMPTZ);
  overrides.setTypeParser(INT8_OID, Number);
  overrides.setTypeParser(pg.types.builtins.TIMESTAMPTZ, (text: string) =>
    UTC_MOMENT.test(text) ? new Date(`${text.slice(0, 10)}T${text.slice(11, -3)}Z`) : readMoment(text),
  );
  return overrides;
}

/**
 * Opens the pool (`poolSize` connections at most) and the reads on a database; both connect lazily.
 *
 * They outlive a restart of PostgreSQL: a connection that breaks is discarded and the next caller gets a new one.
 */
export async function openDatabase(options: { readonly url: string; readonly poolSize: number }): Promise<Database> {
  const connection = {
    connectionString: options.url,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    keepAlive: true,
    application_name: "patchbay",
    types: typeParsers(),
  };
  const pool = new pg.Pool({ ...connection, max: options.poolSize, idleTimeoutMillis: 30_000 });
  // Without a listener an 'error' event ends the process. The pool discards an idle client that broke, and the query or
  // transaction that holds a client fails by itself, so there is nothing else to do. A client in use needs a listener of its own.
  pool.on("error", ignoreError);
  pool.on("connect", (client) => client.on("error", ignoreError));

  const reads = createReads(connection, READ_CONNECTIONS);
  return {
    pool,
    orm: openOrm(pool),
    reads,
    url: options.url,
    async close() {
      await Promise.all([pool.end(), reads.close()]);
    },
  };
}
