import type { Scope } from "./scopes.ts";

/** The caller, as its verified token states. */
export interface Principal {
  /** The token's `sub`. */
  readonly accountId: string;
  /** The OAuth client, or `pat_…` for a personal access token. */
  readonly clientId: string;
  /** The token's scopes. */
  readonly scopes: ReadonlySet<Scope>;
  /** The only connection that a bound token accesses (`mcp_server_id`). */
  readonly connectionId: number | undefined;
  /** The token's grant; undefined for tokens issued without consent. */
  readonly grantId: string | undefined;
  /** The connections of the grant. Undefined for all of the account. */
  readonly connectionIds: ReadonlySet<number> | undefined;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** The token's `aud`. */
  readonly audience: string;
  /** When the token was issued, Unix seconds. */
  readonly issuedAt: number;
  /** Expiry in Unix seconds. Undefined for a personal access token that never expires. */
  readonly expiresAt: number | undefined;
}

/** Whether a principal can access a connection of its account (DESIGN §6 «bound tokens», and the grant's choice). */
export function reaches({ connectionId, connectionIds }: Principal, id: number): boolean {
  return (connectionId === undefined || connectionId === id) && (connectionIds === undefined || connectionIds.has(id));
}

/**
 * Whether a principal can access all connections of its account, including future ones. Only then may it create
 * connections.
 */
export function reachesAll({ connectionId, connectionIds }: Principal): boolean {
  return connectionId === undefined && connectionIds === undefined;
}

/**
 * Whether a principal may create and change credentials. A client under a grant may not, since its credentials would
 * outlive the grant and exceed it.
 */
export function mayCreateCredentials({ grantId }: Principal): boolean {
  return grantId === undefined;
}
