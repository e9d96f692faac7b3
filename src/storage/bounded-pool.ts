import pg from "pg";
import { BoundedClient } from "./bounded-client.ts";
import { ignoreError } from "./ignore-error.ts";
import { isSilence } from "./storage-error.ts";

/** A pool, and what it knows of its connections. */
export interface BoundedPool {
  readonly pool: pg.Pool;
  /** Closes the connections that nobody uses; the next caller gets a new one. */
  dropIdle(): void;
  /** When a connection was last given back in order, by `performance.now()`. */
  answeredAt(): number;
}

/**
 * Makes a pool that outlives its connections: one that breaks is discarded and the next caller gets a new one. `onSilence`
 * is called when a statement got no answer in time: what swallowed it may have swallowed the idle connections as well.
 */
export function createBoundedPool(config: pg.PoolConfig, onSilence: () => void): BoundedPool {
  const pool = new pg.Pool({ Client: BoundedClient, idleTimeoutMillis: 30_000, ...config });
  const idle = new Set<pg.PoolClient>();
  let answeredAt = Number.NEGATIVE_INFINITY;
  // Without a listener an 'error' event ends the process. The pool discards an idle client that broke, and the query or
  // transaction that holds a client fails by itself, so there is nothing else to do. A client in use needs another listener.
  pool.on("error", ignoreError);
  pool.on("connect", (client) => {
    client.on("error", ignoreError);
    if (client instanceof BoundedClient) client.onSilence = onSilence;
  });
  pool.on("acquire", (client) => idle.delete(client));
  pool.on("remove", (client) => idle.delete(client));
  pool.on("release", (error: unknown, client) => {
    if (error === undefined || error === null) {
      idle.add(client);
      answeredAt = performance.now();
    } else if (isSilence(error)) onSilence();
  });
  return {
    pool,
    dropIdle() {
      for (const client of [...idle]) {
        if (client instanceof BoundedClient) client.destroy();
      }
    },
    answeredAt: () => answeredAt,
  };
}
