import type { Logger } from "pino";
import { createRevocations, type Revocations } from "../identity/revocations/revocations.ts";
import { createMemberships, type Memberships } from "../identity/organizations/memberships.ts";
import { createLastUse } from "../identity/tokens/last-use.ts";
import { createIsTokenValid, type IsTokenValid } from "../identity/tokens/token-validity.ts";
import { createTokenVerifier, type TokenVerifier } from "../identity/tokens/verifier.ts";
import type { Config } from "../config.ts";
import type { Foundation } from "./foundation.ts";
import type { Listener } from "../storage/listener.ts";
import { createRevocationStore } from "../storage/stores/identity/revocation.ts";

export interface Auth {
  readonly revocations: Revocations;
  readonly verifier: TokenVerifier;
  readonly isTokenValid: IsTokenValid;
  readonly memberships: Memberships;
  close(): Promise<void>;
}

/** Resolves once the current revocations are loaded. */
export async function composeAuth(
  config: Config,
  foundation: Foundation,
  listener: Listener,
  log: Logger,
): Promise<Auth> {
  const { keys, personalAccessTokenStore, grantStore, memberStore } = foundation;
  const memberships = createMemberships({ store: memberStore, listener });
  const revocations = createRevocations({
    store: createRevocationStore(foundation.database.pool),
    listener,
    onLost: (count) => {
      log.warn({ count }, "the database lost revocations that this replica still enforces; revoke them again");
    },
  });
  const lastUse = createLastUse({
    store: personalAccessTokenStore,
    onError: (error) => {
      log.warn({ err: error }, "last uses of tokens could not be written");
    },
  });
  await Promise.all([revocations.start(), memberships.start(), keys.follow(listener)]);
  return {
    revocations,
    verifier: createTokenVerifier({
      issuer: config.publicUrl,
      keys,
      revocations,
      personalAccessTokens: lastUse,
      grants: grantStore,
      memberships,
    }),
    isTokenValid: createIsTokenValid(revocations, memberships),
    memberships,
    async close() {
      revocations.close();
      await lastUse.close();
    },
  };
}
