import pg from "pg";
import { ignoreError } from "./ignore-error.ts";

/** The service's way into its database. */
export interface Database {
  readonly pool: pg.Pool;
  /** The address it was opened with. */
  readonly url: string;
  /** Ends every connection; later calls fail. */
  close(): Promise<void>;
}

/** PostgreSQL's type `int8`. */
const INT8_OID = 20;

/** How long a caller waits for a free or a new connection. */
const CONNECT_TIMEOUT_MS = 5_000;

/** `int8` as a number: every such column counts or identifies far below 2^53. */
function typeParsers(): pg.CustomTypesConfig {
  const overrides = new pg.TypeOverrides();
  overrides.setTypeParser(INT8_OID, Number);
  return overrides;
}

/**
 * Opens the pool (`poolSize` connections at most) on a database; connects lazily.
 *
 * It outlives a restart of PostgreSQL: a connection that breaks is discarded and the next caller gets a new one.
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

  return { pool, url: options.url, close: () => pool.end() };
}
