import type { Logger } from "pino";
import type { Catalog } from "../../integrations/integration.ts";
import { revokeTokens } from "../../integrations/oauth/revoke-tokens.ts";
import { TokenFailure } from "../../integrations/oauth/token-failure.ts";
import type { EndedGrant, EndedGrants } from "./connection-grants.ts";

/** Revokes a connection's unused tokens at the authorization server. Throws if a retry may succeed. */
export type RevokeGrants = (accountId: string, connectionId: number, signal: AbortSignal) => Promise<void>;

export interface RevokeGrantsDeps {
  readonly catalog: Catalog;
  readonly grants: EndedGrants;
  readonly log: Logger;
}

/** Tokens that an authorization server refuses to revoke are deleted anyway, since nothing uses them. */
export function createRevokeGrants({ catalog, grants, log }: RevokeGrantsDeps): RevokeGrants {
  /** Returns the error if a retry may succeed. */
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
      log.warn({ reason: error.message }, "an authorization server refused to revoke unused tokens; deleted them");
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
