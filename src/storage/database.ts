import pg from "pg";
import { BoundedClient, UnnamedClient } from "./bounded-client.ts";
import { type BoundedPool, createBoundedPool } from "./bounded-pool.ts";
import { DATABASE_BOUNDS, type DatabaseBounds } from "./bounds.ts";
import { openOrm, type Orm } from "./orm.ts";
import { createProbe, type Probe } from "./probe.ts";
import { createReads, type Reads } from "./reads.ts";
import { DIRECT, type ServerTraits } from "./server-traits.ts";

/** The service's way into its database. */
export interface Database {
  /** For what requests and jobs do. */
  readonly pool: pg.Pool;
  /** For statements that work through many rows and may take minutes. */
  readonly maintenance: pg.Pool;
  /** Entities and the query builder, on the pool. */
  readonly orm: Orm;
  /** For short reads by key on the hot paths, beside the pools. */
  readonly reads: Reads;
  /** The address it was opened with. */
  readonly url: string;
  /** Opens another pool whose statements may take `statementMs`. The caller ends it. */
  openPool(options: { readonly poolSize: number; readonly statementMs: number }): pg.Pool;
  /** Whether the pool and the reads answer now. Cheap, however often it is asked. */
  readonly isResponsive: Probe;
  /** Ends every connection; later calls fail. */
  close(): Promise<void>;
}

/** How a database is opened. */
export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly bounds?: Partial<DatabaseBounds>;
  /** What stands at the address; PostgreSQL itself unless told. */
  readonly server?: ServerTraits;
}

/** PostgreSQL's type `int8`. */
const INT8_OID = 20;

/** More of them make the batches smaller; fewer make more queries wait behind a server process that is slow to be scheduled. */
const READ_CONNECTIONS = 6;

const MAINTENANCE_CONNECTIONS = 4;

/** The server gives up a statement before we do, so that the connection can stay. */
const SERVERS_SHARE = 0.9;

/** How long the outcome of a probe counts, and an answer to somebody else in its place, in milliseconds. */
const FRESH_MS = 500;

/** After this long without traffic the operating system asks whether the other side is there, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

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

/** Bounds a statement on both sides. */
function boundedBy(statementMs: number, { takesSettings }: ServerTraits): pg.ClientConfig {
  const settings = {
    statement_timeout: Math.ceil(statementMs * SERVERS_SHARE),
    // A transaction that we no longer know of would hold its locks for ever.
    idle_in_transaction_session_timeout: statementMs,
  };
  return { query_timeout: statementMs, ...(takesSettings && settings) };
}

/**
 * Opens the pools (`poolSize` connections at most for requests) and the reads on a database; all connect lazily.
 *
 * They outlive a restart of PostgreSQL and a network that drops their packets: a connection that breaks, or leaves a
 * statement without an answer, is discarded with all idle ones, and the next caller gets a new one.
 */
export async function openDatabase(options: DatabaseOptions): Promise<Database> {
  const { url, poolSize, server = DIRECT } = options;
  const bounds = { ...DATABASE_BOUNDS, ...options.bounds };
  const connection = {
    connectionString: url,
    connectionTimeoutMillis: bounds.connectMs,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    application_name: "patchbay",
    types: typeParsers(),
  };
  const pools = new Set<BoundedPool>();
  const dropIdle = (): void => {
    for (const each of pools) each.dropIdle();
    reads.dropIdle();
  };
  const openPool = (max: number, statementMs: number): BoundedPool => {
    const Client = server.keepsStatements ? BoundedClient : UnnamedClient;
    const opened = createBoundedPool({ ...connection, ...boundedBy(statementMs, server), max, Client }, dropIdle);
    pools.add(opened);
    return opened;
  };
  const reads = createReads(
    { ...connection, ...boundedBy(bounds.readMs, server) },
    { connections: READ_CONNECTIONS, keepsStatements: server.keepsStatements, onSilence: dropIdle },
  );
  const main = openPool(poolSize, bounds.statementMs);
  const maintenance = openPool(MAINTENANCE_CONNECTIONS, bounds.maintenanceMs);
  // The driver takes a bound for a single statement, which its types do not say.
  const probe = { text: "select 1", query_timeout: bounds.probeMs };
  const lookAtPool = async (): Promise<void> => {
    // A pool whose connections are all busy answers, although a probe would have to wait.
    if (performance.now() - main.answeredAt() > FRESH_MS) await main.pool.query(probe);
  };
  return {
    pool: main.pool,
    maintenance: maintenance.pool,
    orm: openOrm(main.pool),
    reads,
    url,
    openPool: ({ poolSize: max, statementMs }) => openPool(max, statementMs).pool,
    isResponsive: createProbe(() => Promise.all([lookAtPool(), reads.query(probe)]), {
      boundMs: bounds.probeMs,
      freshMs: FRESH_MS,
    }),
    async close() {
      await Promise.all([main.pool.end(), maintenance.pool.end(), reads.close()]);
    },
  };
}
