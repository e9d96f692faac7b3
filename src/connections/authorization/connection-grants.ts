import type { Actor } from "../../identity/actor.ts";
import type { AuthorizationTerms } from "../../integrations/authorization.ts";
import type { JsonObject } from "../../json.ts";
import type { StoredTokens } from "../../integrations/oauth/grant.ts";
import type { Connection } from "../connection.ts";

/** Tokens of an owner's login at an upstream's authorization server. */
export interface NewUpstreamGrant {
  readonly accountId: string;
  readonly connectionId: number;
  readonly serverType: string;
  /** The key version when the authorization started. The tokens are void if the destination changed since. */
  readonly keyVersion: number;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
  /** The connection's secrets without the key that the tokens replace. Undefined if there was no key. */
  readonly secrets?: JsonObject | undefined;
}

/** Tokens to revoke at their authorization server. */
export interface EndedGrant {
  readonly id: string;
  readonly serverType: string;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
}

/** Stores tokens of owners' logins. Every method throws DomainError `unavailable` if the database cannot be reached. */
export interface ConnectionGrants {
  /**
   * Replaces the connection's tokens and schedules its verification in one transaction. If the connection was deleted
   * or changed, revokes the tokens and returns undefined.
   */
  storeGrant(grant: NewUpstreamGrant, actor: Actor): Promise<Connection | undefined>;
}

/** Tokens that are no longer used. Every method throws DomainError `unavailable` if the database cannot be reached. */
export interface EndedGrants {
  /**
   * Ends tokens of a connection that is deleted or uses another method, and returns all of its tokens that are still
   * to be revoked. Waits for a running renewal, so that the newest tokens are revoked.
   */
  endUnused(accountId: string, connectionId: number): Promise<readonly EndedGrant[]>;
  /** Deletes ended tokens after their revocation. */
  dropEnded(accountId: string, grantId: string): Promise<void>;
}
