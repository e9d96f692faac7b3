import type { AuthorizationTerms } from "../../integrations/authorization.ts";

/** An authorization whose ticket is still unused. */
export interface PendingAuthorization {
  readonly id: string;
  readonly connectionId: number;
  /** The scopes that a rejected call needed; undefined for the default ones. */
  readonly wantedScope: string | undefined;
}

/** An authorization whose owner was sent to the upstream's login. */
export interface StartedAuthorization {
  readonly connectionId: number;
  /** The key version when the authorization started. With any other version the terms are invalid. */
  readonly keyVersion: number;
  readonly terms: AuthorizationTerms;
  /** PKCE (RFC 7636). Encrypted at rest. */
  readonly codeVerifier: string;
}

/**
 * Stores authorizations in progress, with keyed hashes of tickets and states. Each can be used once, within
 * `lifetimeSeconds` and by its account. Every method throws DomainError `unavailable` if the database cannot be
 * reached.
 */
export interface AuthorizationStore {
  /** Stores a ticket and returns its expiry, or undefined if the connection is deleted. */
  issue(
    accountId: string,
    connectionId: number,
    ticketHash: Uint8Array,
    lifetimeSeconds: number,
  ): Promise<Date | undefined>;
  /** Finds the authorization of a ticket without using it up. */
  find(accountId: string, ticketHash: Uint8Array): Promise<PendingAuthorization | undefined>;
  /** Uses up the ticket and binds the state to the login session. Returns false if the ticket was used. */
  start(
    accountId: string,
    id: string,
    begun: StartedAuthorization & { readonly sessionId: string; readonly stateHash: Uint8Array },
    lifetimeSeconds: number,
  ): Promise<boolean>;
  /** Returns and uses up the authorization of a state in one step, if this session started it. */
  consume(accountId: string, sessionId: string, stateHash: Uint8Array): Promise<StartedAuthorization | undefined>;
}
