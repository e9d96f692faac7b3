import type pg from "pg";
import { hashSecret } from "../identity/hash-secret.ts";
import type { Config } from "../config.ts";
import type { Connection } from "../connections/connection.ts";
import type { ConnectionStore } from "../connections/connection-store.ts";
import type { Jobs } from "../storage/jobs.ts";
import { createConnectionStore } from "../storage/stores/connections/connection.ts";
import { fromVerificationJob, PURGE_QUEUE, VERIFY_QUEUE } from "./background.ts";
import type { Foundation } from "./foundation.ts";
import { createEndAuthorization } from "./granted-tokens.ts";

/** Connections at rest, and what has a new key of one verified. */
export interface ConnectionsAtRest {
  readonly store: ConnectionStore;
  /** Puts the first verification of a key in the queue, within a transaction. */
  readonly enqueueVerification: (client: pg.PoolClient, connection: Connection) => Promise<void>;
}

/** Builds them over the queues that do what changes entail. */
export function composeConnectionStore(config: Config, foundation: Foundation, jobs: Jobs): ConnectionsAtRest {
  const { database, sealer, pepper } = foundation;
  const enqueueVerification: ConnectionsAtRest["enqueueVerification"] = (
    client,
    { accountId, id: connectionId, keyVersion },
  ) => {
    const job = fromVerificationJob({ accountId, connectionId, keyVersion, attempt: 0, isRecheck: false });
    return jobs.send(VERIFY_QUEUE, job, {}, client);
  };
  const store = createConnectionStore({
    pool: database.pool,
    reads: database.reads,
    sealer,
    hashSecret: (secret) => hashSecret(pepper, secret),
    maxConnections: config.maxConnectionsPerAccount,
    enqueueVerification,
    endAuthorization: createEndAuthorization(jobs),
    enqueuePurge: (client, accountId, connectionId, what) =>
      jobs.send(PURGE_QUEUE, { accountId, connectionId, what }, {}, client),
  });
  return { store, enqueueVerification };
}
