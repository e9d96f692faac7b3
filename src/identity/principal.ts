import type { Role } from "./organizations/role.ts";
import type { Scope } from "./scopes.ts";

/** The caller, as its verified token states. */
export interface Principal {
  /** The token's `sub`: a person's own account, or an organization. */
  readonly accountId: string;
  /** The person who acts in an organization (`act.sub`). Undefined in a person's own account, and for its own clients. */
  readonly memberId: string | undefined;
  /** The role in the organization at this request. Undefined in a person's own account. */
  readonly role: Role | undefined;
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

type TokenReach = Pick<Principal, "connectionId" | "connectionIds">;

/** Whether the token is not limited to some connections (DESIGN §6 «bound tokens», and the grant's choice). */
export function isUnlimited({ connectionId, connectionIds }: TokenReach): boolean {
  return connectionId === undefined && connectionIds === undefined;
}

function isWithinToken({ connectionId, connectionIds }: TokenReach, id: number): boolean {
  return (connectionId === undefined || connectionId === id) && (connectionIds === undefined || connectionIds.has(id));
}

/** Members see no connection of an organization unless it is shared with them (DESIGN §10). */
function managesConnections({ role }: Pick<Principal, "role">): boolean {
  return role !== "member";
}

/** Whether a principal can see and manage a connection of its account. */
export function reaches(principal: TokenReach & Pick<Principal, "role">, id: number): boolean {
  return isWithinToken(principal, id) && managesConnections(principal);
}

/**
 * Whether a principal can manage all connections of its account, including future ones. Only then may it create
 * connections.
 */
export function reachesAll(principal: TokenReach & Pick<Principal, "role">): boolean {
  return isUnlimited(principal) && managesConnections(principal);
}

/** The connections that a principal can see and manage. Undefined for all that its binding allows. */
export function reachableSet({ role, connectionIds }: Principal): ReadonlySet<number> | undefined {
  return managesConnections({ role }) ? connectionIds : NONE;
}

const NONE: ReadonlySet<number> = new Set();

/**
 * Whether a principal may call the tools of a connection of its account. People in an organization call only what is
 * shared with them, whatever their role; nothing is shared yet (DESIGN §10).
 */
export function mayCall(principal: TokenReach & Pick<Principal, "memberId">, id: number): boolean {
  return isWithinToken(principal, id) && principal.memberId === undefined;
}

/**
 * Whether a principal may create and change credentials. A client under a grant may not, since its credentials would
 * outlive the grant and exceed it.
 */
export function mayCreateCredentials({ grantId }: Pick<Principal, "grantId">): boolean {
  return grantId === undefined;
}
