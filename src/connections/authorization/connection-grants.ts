import type { Actor } from "../../identity/actor.ts";
import type { AuthorizationTerms } from "../../integrations/authorization.ts";
import type { JsonObject } from "../../json.ts";
import type { StoredTokens } from "../../integrations/oauth/grant.ts";
import type { Connection } from "../connection.ts";

/** Tokens that an owner's login at a third party brought. */
export interface NewUpstreamGrant {
  readonly accountId: string;
  readonly connectionId: number;
  readonly serverType: string;
  /** The version of the connection's key when its owner set out: another destination since then makes the tokens void. */
  readonly keyVersion: number;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
  /** The connection's secrets without the key that the tokens take the place of. Undefined where there was no key: they stay. */
  readonly secrets?: JsonObject | undefined;
}

/** Tokens to be revoked at their third party. */
export interface EndedGrant {
  readonly id: string;
  readonly serverType: string;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
}

/** What owners' logins brought, at rest. Every method throws DomainError `unavailable` when the database cannot be reached. */
export interface ConnectionGrants {
  /**
   * Puts tokens in force in place of those there were, and has the connection verified with them, all in one transaction.
   * Undefined when the connection is gone or another one by now: then the tokens are revoked and nothing else happens.
   */
  storeGrant(grant: NewUpstreamGrant, actor: Actor): Promise<Connection | undefined>;
}

/** Tokens that are used no longer, at rest. Every method throws DomainError `unavailable` when the database cannot be reached. */
export interface EndedGrants {
  /**
   * Ends the tokens that a connection uses no longer, because it is gone or has another way to authenticate, and answers
   * all of its that are still to be revoked. Waits for a renewal under way, so that it is the newest that are revoked.
   */
  endUnused(accountId: string, connectionId: number): Promise<readonly EndedGrant[]>;
  /** Drops ended tokens: nothing is left to do for them. */
  dropEnded(accountId: string, grantId: string): Promise<void>;
}
