import type { AuthorizationTerms, IssuedTokens } from "../authorization.ts";

export interface StoredTokens {
  readonly accessToken: string;
  /** Undefined when the server issued none: the owner must log in again when the access token expires. */
  readonly refreshToken: string | undefined;
  /** Milliseconds since 1970; undefined when the server does not state it. */
  readonly expiresAtMs: number | undefined;
  /** Space-separated. */
  readonly scope: string | undefined;
}

/** Tokens of an owner's login. Never logged, never returned. */
export interface UpstreamGrant {
  readonly id: string;
  /** The version of the connection's key at login; later versions need a new login. */
  readonly keyVersion: number;
  /** Incremented with every renewal. */
  readonly version: number;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
  /** Why the authorization server rejects the grant, as a public sentence; undefined while it is valid. */
  readonly lostReason: string | undefined;
}

/** The result of a renewal attempt. Temporary failures are thrown instead and retried. */
export type Renewal =
  { readonly kind: "renewed"; readonly tokens: StoredTokens } | { readonly kind: "lost"; readonly reason: string };

/** Every method throws DomainError `unavailable` when the database cannot be reached. */
export interface UpstreamGrantStore {
  find(accountId: string, connectionId: number): Promise<UpstreamGrant | undefined>;
  /**
   * Renews the current grant if it still has that version, under a lock across replicas, and returns the current
   * grant. When another replica was first, `renew` is not called. The result is stored before it is returned; when
   * `renew` throws, nothing changes.
   */
  renew(
    accountId: string,
    connectionId: number,
    version: number,
    renew: (grant: UpstreamGrant) => Promise<Renewal>,
  ): Promise<UpstreamGrant | undefined>;
}

/** `requestedAtMs` is the time of the token request, in milliseconds since 1970. */
export function toStoredTokens(issued: IssuedTokens, requestedAtMs: number): StoredTokens {
  const { accessToken, refreshToken, lifetimeSeconds, scope } = issued;
  const expiresAtMs = lifetimeSeconds === undefined ? undefined : requestedAtMs + lifetimeSeconds * 1_000;
  return { accessToken, refreshToken, expiresAtMs, scope };
}
