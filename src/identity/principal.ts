import type { Scope } from "./scopes.ts";

/** Who acts, as a verified token says. */
export interface Principal {
  /** The owner: the token's `sub`. */
  readonly accountId: string;
  /** The OAuth client, or `pat_…` for a personal access token. */
  readonly clientId: string;
  /** What the token allows. */
  readonly scopes: ReadonlySet<Scope>;
  /** The one connection that a bound token sees (`mcp_server_id`). */
  readonly connectionId: number | undefined;
  /** The grant that the token came from; undefined for tokens that no consent led to. */
  readonly grantId: string | undefined;
  /** The connections that the grant's consent chose. Undefined for all of the account. */
  readonly connectionIds: ReadonlySet<number> | undefined;
  /** The token's `jti`. */
  readonly tokenId: string;
  /** The token's `aud`. */
  readonly audience: string;
  /** When the token was issued, Unix seconds. */
  readonly issuedAt: number;
  /** When the token ends, Unix seconds. Undefined for a personal access token without an end. */
  readonly expiresAt: number | undefined;
}

/** Whether a principal sees a connection, if it is one of its account: DESIGN §6 «bound tokens», and the grant's choice. */
export function reaches({ connectionId, connectionIds }: Principal, id: number): boolean {
  return (connectionId === undefined || connectionId === id) && (connectionIds === undefined || connectionIds.has(id));
}

/** Whether a principal sees all connections of its account, those to come as well; who does not makes no new ones. */
export function reachesAll({ connectionId, connectionIds }: Principal): boolean {
  return connectionId === undefined && connectionIds === undefined;
}

/**
 * Whether a principal may make and change credentials: no client that acts under a grant, since what it made would outlive
 * the grant and reach beyond it. Credentials are made by people, and by what they made for themselves.
 */
export function mayCreateCredentials({ grantId }: Principal): boolean {
  return grantId === undefined;
}
