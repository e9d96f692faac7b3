/**
 * Time limits for the database, in milliseconds. When one is exceeded, the connection is closed and the request fails.
 */
export interface DatabaseBounds {
  /** Time limit for getting a connection. */
  readonly connectMs: number;
  /** Time limit of a read by key. */
  readonly readMs: number;
  /** Time limit of any other statement of a request; also of an idle transaction. */
  readonly statementMs: number;
  /** Time limit of statements over many rows: purges, partitions, re-encryption, counts of whole tables. */
  readonly maintenanceMs: number;
  /** Time limit of the readiness probe. */
  readonly probeMs: number;
}

/** A request that waits for each of these limits once still fails within its 40 seconds. */
export const DATABASE_BOUNDS: DatabaseBounds = {
  connectMs: 5_000,
  readMs: 5_000,
  statementMs: 10_000,
  maintenanceMs: 300_000,
  probeMs: 2_000,
};
