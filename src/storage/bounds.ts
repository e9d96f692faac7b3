/** How long the service waits for its database, in milliseconds. Past a bound the connection is closed and the request fails. */
export interface DatabaseBounds {
  /** For a free or a new connection. */
  readonly connectMs: number;
  /** For the answer to a read by key. */
  readonly readMs: number;
  /** For the answer to any other statement of a request; also how long a transaction may stay idle. */
  readonly statementMs: number;
  /** For a statement that works through many rows: purges, partitions, sealing again, counts of whole tables. */
  readonly maintenanceMs: number;
  /** For the answer to the probe of readiness. */
  readonly probeMs: number;
}

/** A request that meets each of them once still fails within its 40 seconds. */
export const DATABASE_BOUNDS: DatabaseBounds = {
  connectMs: 5_000,
  readMs: 5_000,
  statementMs: 10_000,
  maintenanceMs: 300_000,
  probeMs: 2_000,
};
