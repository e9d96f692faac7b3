import type { Logger } from "pino";
import type { Dispatcher } from "undici";
import type { Config } from "../config.ts";
import type { ConnectionStore } from "../connections/connection-store.ts";
import { createRevokeGrants, type RevokeGrants } from "../connections/authorization/revoke-grants.ts";
import type { Catalog } from "../integrations/integration.ts";
import { forgetClientIfUnknown } from "../integrations/oauth/forget-unknown-client.ts";
import { createGrantedTokens, type GrantedTokens } from "../integrations/oauth/granted-tokens.ts";
import { refreshTokens } from "../integrations/oauth/refresh-tokens.ts";
import { createRenewalSlots } from "../integrations/oauth/renewal-slots.ts";
import type { Jobs } from "../storage/jobs.ts";
import { runnerOf } from "../storage/stores/run-statement.ts";
import { createUpstreamGrantStore } from "../storage/stores/connections/connection-grant.ts";
import {
  createEndedGrants,
  type EnqueueRevocation,
  revokeGrants,
} from "../storage/stores/connections/connection-grant-write.ts";
import { createUpstreamClientStore } from "../storage/stores/integrations/upstream-client.ts";
import { REVOKE_QUEUE } from "./background.ts";
import type { Foundation } from "./foundation.ts";

/** Maximum number of concurrent renewals. Each uses a database connection until the authorization server responds. */
const RENEWALS = { total: 6, perServer: 3 };

/** Longer than the 25 seconds that a renewal waits for that of another replica. */
const RENEWAL_STATEMENT_MS = 30_000;

export interface UpstreamTokens {
  /** Returns the tokens for upstreams that are called through this dispatcher. */
  through(dispatcher: Dispatcher): GrantedTokens;
  close(): Promise<void>;
}

/** Renewals use their own database connections. */
export function composeGrantedTokens(
  { publicUrl }: Pick<Config, "publicUrl">,
  { database, sealer }: Pick<Foundation, "database" | "sealer">,
  connections: Pick<ConnectionStore, "requireAuthorization">,
): UpstreamTokens {
  const own = database.openPool({ poolSize: RENEWALS.total, statementMs: RENEWAL_STATEMENT_MS });
  const store = createUpstreamGrantStore({ reads: database.reads, pool: own, sealer });
  const clients = createUpstreamClientStore({ orm: database.orm, sealer });
  const slots = createRenewalSlots(RENEWALS);
  return {
    through: (dispatcher) =>
      createGrantedTokens({
        store,
        slots,
        refresh: (terms, refreshToken, signal) =>
          forgetClientIfUnknown(terms, publicUrl + terms.callbackPath, clients, () =>
            refreshTokens(terms, refreshToken, dispatcher, signal),
          ),
        requireAuthorization: ({ accountId, connectionId, keyVersion }, need) =>
          connections.requireAuthorization(accountId, connectionId, keyVersion, need),
      }),
    close: () => own.end(),
  };
}

/** Enqueues the revocation of a connection's unused tokens within a transaction. */
export function createEnqueueRevocation(jobs: Jobs): EnqueueRevocation {
  return (em, accountId, connectionId) => jobs.send(REVOKE_QUEUE, { accountId, connectionId }, {}, runnerOf(em));
}

/** Deletes a connection's authorization within a transaction and enqueues its revocation. */
export function createEndAuthorization(jobs: Jobs): EnqueueRevocation {
  const enqueue = createEnqueueRevocation(jobs);
  return (em, accountId, connectionId) => revokeGrants(em, accountId, connectionId, enqueue);
}

export function composeRevocation(
  { database: { orm }, sealer }: Pick<Foundation, "database" | "sealer">,
  catalog: Catalog,
  log: Logger,
): RevokeGrants {
  return createRevokeGrants({ catalog, grants: createEndedGrants({ orm, sealer }), log });
}
