import pg from "pg";
import { BoundedClient, UnnamedClient } from "./pool/bounded-client.ts";
import { type BoundedPool, createBoundedPool } from "./pool/bounded-pool.ts";
import { DATABASE_BOUNDS, type DatabaseBounds } from "./pool/bounds.ts";
import { openOrm, type Orm } from "./orm.ts";
import { createProbe, type Probe } from "./pool/probe.ts";
import { createReads, type Reads } from "./pool/reads.ts";
import { DIRECT, type ServerTraits } from "./pool/server-traits.ts";

/** The service's access to its database. */
export interface Database {
  /** For requests and jobs. */
  readonly pool: pg.Pool;
  /** For statements over many rows, which may take minutes. */
  readonly maintenance: pg.Pool;
  /** Entities and the query builder, on the pool. */
  readonly orm: Orm;
  /** For short reads by key on the hot paths. */
  readonly reads: Reads;
  /** The address of the database. */
  readonly url: string;
  /** Opens another pool whose statements may take `statementMs`. The caller closes it. */
  openPool(options: { readonly poolSize: number; readonly statementMs: number }): pg.Pool;
  /** Whether the pool and the reads respond. Results are cached briefly. */
  readonly isResponsive: Probe;
  /** Closes every connection; later calls fail. */
  close(): Promise<void>;
}

/** Options for opening a database. */
export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly bounds?: Partial<DatabaseBounds>;
  /** The capabilities of the server or pooler at the address. Default: PostgreSQL itself. */
  readonly server?: ServerTraits;
}

/** PostgreSQL's type `int8`. */
const INT8_OID = 20;

/** With more connections, batches are smaller; with fewer, more queries wait for one slow server process. */
const READ_CONNECTIONS = 6;

const MAINTENANCE_CONNECTIONS = 4;

/** The server cancels a statement before the client gives up, so that the connection survives. */
const SERVERS_SHARE = 0.9;

/** How long the result of a probe is cached, in milliseconds. A recent successful query counts as a probe. */
const FRESH_MS = 500;

/** Idle time before TCP keepalive probes start, in milliseconds. */
const KEEP_ALIVE_MS = 15_000;

/** A timestamp in UTC in PostgreSQL's output format. */
const UTC_MOMENT = /^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)?\+00$/;

/**
 * Parses `int8` as a number, because all such columns stay far below 2^53. Parses timestamps with the engine's ISO 8601
 * parser, at half the cost of the driver's.
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

/** Limits a statement on the client and on the server. */
function boundedBy(statementMs: number, { takesSettings }: ServerTraits): pg.ClientConfig {
  const settings = {
    statement_timeout: Math.ceil(statementMs * SERVERS_SHARE),
    // The server ends transactions of lost clients, which would hold their locks forever.
    idle_in_transaction_session_timeout: statementMs,
  };
  return { query_timeout: statementMs, ...(takesSettings && settings) };
}

/**
 * Opens the pools (at most `poolSize` connections for requests) and the reads; all connect lazily. They survive a
 * restart of PostgreSQL and packet loss: a connection that breaks, or leaves a statement without a response, is
 * discarded with all idle ones.
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
  // The driver supports a limit for a single statement, but its types do not include it.
  const probe = { text: "select 1", query_timeout: bounds.probeMs };
  const lookAtPool = async (): Promise<void> => {
    // Recent results prove that a busy pool works, although a probe would have to wait.
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
