import { hashSecret } from "../identity/hash-secret.ts";
import type { Config } from "../config.ts";
import type { ConnectionStore } from "../connections/connection-store.ts";
import type { Jobs } from "../storage/jobs.ts";
import { createConnectionStore } from "../storage/stores/connections/connection.ts";
import { enqueueVerification } from "../storage/stores/connections/verification-queue.ts";
import { runnerOf } from "../storage/stores/run-statement.ts";
import type { WebhookOutbox } from "../storage/stores/webhooks/webhook-outbox.ts";
import { PURGE_QUEUE } from "./background.ts";
import type { Foundation } from "./foundation.ts";
import { createEndAuthorization } from "./granted-tokens.ts";

export function composeConnectionStore(
  config: Config,
  foundation: Foundation,
  jobs: Jobs,
  webhooks: WebhookOutbox,
): ConnectionStore {
  const { database, sealer, pepper } = foundation;
  return createConnectionStore({
    orm: database.orm,
    pool: database.pool,
    reads: database.reads,
    sealer,
    hashSecret: (secret) => hashSecret(pepper, secret),
    maxConnections: config.maxConnectionsPerAccount,
    enqueueVerification,
    webhooks,
    endAuthorization: createEndAuthorization(jobs),
    enqueuePurge: (em, accountId, connectionId, what) =>
      jobs.send(PURGE_QUEUE, { accountId, connectionId, what }, {}, runnerOf(em)),
  });
}
