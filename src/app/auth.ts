import type { Logger } from "pino";
import type { Principal } from "../identity/principal.ts";
import { createRevocations, type Revocations } from "../identity/revocations/revocations.ts";
import { createTokenVerifier, type TokenVerifier } from "../identity/tokens/verifier.ts";
import type { Config } from "../config.ts";
import type { Foundation } from "./foundation.ts";
import { composeLastUse } from "./last-use.ts";
import type { Listener } from "../storage/listener.ts";
import { createRevocationStore } from "../storage/stores/identity/revocation.ts";

export interface Auth {
  readonly revocations: Revocations;
  readonly verifier: TokenVerifier;
  /** Whether the token is neither expired nor revoked. */
  readonly isTokenValid: (principal: Principal) => Promise<boolean>;
  close(): Promise<void>;
}

/** Resolves once the current revocations are loaded. */
export async function composeAuth(
  config: Config,
  foundation: Foundation,
  listener: Listener,
  log: Logger,
): Promise<Auth> {
  const { keys, personalAccessTokenStore, grantStore } = foundation;
  const revocations = createRevocations({
    store: createRevocationStore(foundation.database.pool),
    listener,
    onLost: (count) => {
      log.warn({ count }, "the database lost revocations that this replica still enforces; revoke them again");
    },
  });
  const lastUse = composeLastUse(personalAccessTokenStore, log);
  await Promise.all([revocations.start(), keys.follow(listener)]);
  return {
    revocations,
    verifier: createTokenVerifier({
      issuer: config.publicUrl,
      keys,
      revocations,
      personalAccessTokens: lastUse,
      grants: grantStore,
    }),
    isTokenValid: async (principal) =>
      (principal.expiresAt === undefined || principal.expiresAt * 1000 > Date.now()) &&
      !(await revocations.isRevoked(principal)),
    async close() {
      revocations.close();
      await lastUse.close();
    },
  };
}
