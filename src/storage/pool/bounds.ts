/**
 * Time limits for the database, in milliseconds. When one is exceeded, the connection is closed and the request fails.
 */
export interface DatabaseBounds {
  /** For getting a connection. */
  readonly connectMs: number;
  /** For a read by key. */
  readonly readMs: number;
  /** For any other statement of a request; also the limit for an idle transaction. */
  readonly statementMs: number;
  /** For statements over many rows: purges, partitions, re-encryption, counts of whole tables. */
  readonly maintenanceMs: number;
  /** For the readiness probe. */
  readonly probeMs: number;
}

/** A request that reaches each of them once still fails within its 40 seconds. */
export const DATABASE_BOUNDS: DatabaseBounds = {
  connectMs: 5_000,
  readMs: 5_000,
  statementMs: 10_000,
  maintenanceMs: 300_000,
  probeMs: 2_000,
};
