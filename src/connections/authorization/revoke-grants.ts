import type { Logger } from "pino";
import type { Catalog } from "../../integrations/integration.ts";
import { revokeTokens } from "../../integrations/oauth/revoke-tokens.ts";
import { TokenFailure } from "../../integrations/oauth/token-failure.ts";
import type { EndedGrant, EndedGrants } from "./connection-grants.ts";

/** Revokes what a connection uses no longer at its third party. Throws when another attempt may succeed where this one failed. */
export type RevokeGrants = (accountId: string, connectionId: number, signal: AbortSignal) => Promise<void>;

/** What revoking needs. */
export interface RevokeGrantsDeps {
  readonly catalog: Catalog;
  readonly grants: EndedGrants;
  readonly log: Logger;
}

/** Makes it. Tokens that a third party will not revoke are dropped all the same: nothing here uses them any more. */
export function createRevokeGrants({ catalog, grants, log }: RevokeGrantsDeps): RevokeGrants {
  /** Why another attempt is worth it, or undefined. */
  async function revoke({ serverType, terms, tokens }: EndedGrant, signal: AbortSignal): Promise<Error | undefined> {
    const dispatcher = catalog.get(serverType)?.authorization?.dispatcher;
    if (dispatcher === undefined) return undefined;
    try {
      await revokeTokens(terms, tokens, dispatcher, signal);
      return undefined;
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof TokenFailure)) throw error;
      if (error.kind === "busy" || error.kind === "down") return error;
      log.warn({ reason: error.message }, "a third party did not revoke tokens that are used no longer");
      return undefined;
    }
  }

  return async (accountId, connectionId, signal) => {
    let failure: Error | undefined;
    for (const grant of await grants.endUnused(accountId, connectionId)) {
      const reason = await revoke(grant, signal);
      if (reason === undefined) await grants.dropEnded(accountId, grant.id);
      failure ??= reason;
    }
    if (failure !== undefined) throw failure;
  };
}
