import type { AuthorizationTerms } from "../../integrations/authorization.ts";

/** An authorization that its owner may begin: the ticket is good. */
export interface PendingAuthorization {
  readonly id: string;
  readonly connectionId: number;
  /** The scopes that a refused call asked for; undefined for the usual ones. */
  readonly wantedScope: string | undefined;
}

/** An authorization that its owner has gone to the third party for. */
export interface StartedAuthorization {
  readonly connectionId: number;
  /** The version of the connection's key at that moment: under another one the terms are no longer the connection's. */
  readonly keyVersion: number;
  readonly terms: AuthorizationTerms;
  /** PKCE (RFC 7636). Sealed at rest. */
  readonly codeVerifier: string;
}

/**
 * Authorizations under way. Of tickets and states only keyed hashes are kept; each is good once, for `lifetimeSeconds`, and
 * for its account alone. Every method throws DomainError `unavailable` when the database cannot be reached.
 */
export interface AuthorizationStore {
  /** Makes a ticket good for a connection, until the answer; undefined when the connection is gone. */
  issue(
    accountId: string,
    connectionId: number,
    ticketHash: Uint8Array,
    lifetimeSeconds: number,
  ): Promise<Date | undefined>;
  /** The authorization that a ticket opens. Looking uses nothing up. */
  find(accountId: string, ticketHash: Uint8Array): Promise<PendingAuthorization | undefined>;
  /** Uses the ticket up: from now on the state alone leads on, in the session that it is bound to. False when it was used already. */
  start(
    accountId: string,
    id: string,
    begun: StartedAuthorization & { readonly sessionId: string; readonly stateHash: Uint8Array },
    lifetimeSeconds: number,
  ): Promise<boolean>;
  /** What was begun under a state, by the session that began it. Using it up and learning it is one step, so it happens once. */
  consume(accountId: string, sessionId: string, stateHash: Uint8Array): Promise<StartedAuthorization | undefined>;
}
