import pg from "pg";
import { BoundedClient } from "./bounded-client.ts";
import { ignoreError } from "../ignore-error.ts";
import { isSilence } from "../storage-error.ts";

/** A pool and the state of its connections. */
export interface BoundedPool {
  readonly pool: pg.Pool;
  /** Closes idle connections; later callers get new ones. */
  dropIdle(): void;
  /** When a working connection was last released, by `performance.now()`. */
  answeredAt(): number;
}

/**
 * Creates a pool that discards broken connections and opens new ones. `onSilence` is called when a statement got no
 * response in time, because the idle connections may be lost as well.
 */
export function createBoundedPool(config: pg.PoolConfig, onSilence: () => void): BoundedPool {
  const pool = new pg.Pool({ Client: BoundedClient, idleTimeoutMillis: 30_000, ...config });
  const idle = new Set<pg.PoolClient>();
  let answeredAt = Number.NEGATIVE_INFINITY;
  // Without a listener, an 'error' event would end the process. The pool discards the client, and its query or
  // transaction fails by itself. A client in use needs its own listener.
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
