import type { AuthorizationTerms, IssuedTokens } from "../authorization.ts";

/** Tokens as they are kept: when they expire, and not how long they live. */
export interface StoredTokens {
  readonly accessToken: string;
  /** Undefined where the authorization server gives none: then the owner logs in again. */
  readonly refreshToken: string | undefined;
  /** Milliseconds since 1970; undefined where the server does not say. */
  readonly expiresAtMs: number | undefined;
  /** Space-separated; undefined where nobody said. */
  readonly scope: string | undefined;
}

/** What a third party gave a connection whose owner logged in there. Never logged, never returned. */
export interface UpstreamGrant {
  readonly id: string;
  /** The version of the connection's key that it came with; a later one is not its to authorise. */
  readonly keyVersion: number;
  /** Grows with every renewal. */
  readonly version: number;
  readonly terms: AuthorizationTerms;
  readonly tokens: StoredTokens;
  /** Why the authorization server takes it no longer, in a public sentence; undefined while it does. */
  readonly lostReason: string | undefined;
}

/** How an attempt to renew a grant ended: with new tokens, or with its loss. Anything else is thrown, and tried again later. */
export type Renewal =
  { readonly kind: "renewed"; readonly tokens: StoredTokens } | { readonly kind: "lost"; readonly reason: string };

/** Grants at rest. Every method throws DomainError `unavailable` when the database cannot be reached. */
export interface UpstreamGrantStore {
  /** The grant in force, or undefined when there is none. */
  find(accountId: string, connectionId: number): Promise<UpstreamGrant | undefined>;
  /**
   * Renews the grant in force while no other replica can, if it is still at that version, and answers what is in force
   * then: whoever comes second gets what the first one got, and `renew` is not run. What it answers is stored before
   * anybody sees it; when it throws, nothing changes.
   */
  renew(
    accountId: string,
    connectionId: number,
    version: number,
    renew: (grant: UpstreamGrant) => Promise<Renewal>,
  ): Promise<UpstreamGrant | undefined>;
}

/** Issued tokens as they are kept. `askedMs` is when they were asked for, in milliseconds since 1970. */
export function toStoredTokens(issued: IssuedTokens, requestedAtMs: number): StoredTokens {
  const { accessToken, refreshToken, lifetimeSeconds, scope } = issued;
  const expiresAtMs = lifetimeSeconds === undefined ? undefined : requestedAtMs + lifetimeSeconds * 1_000;
  return { accessToken, refreshToken, expiresAtMs, scope };
}
