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
  /** The token's `jti`. */
  readonly tokenId: string;
  /** The token's `aud`. */
  readonly audience: string;
  /** When the token was issued, Unix seconds. */
  readonly issuedAt: number;
  /** When the token ends, Unix seconds. Undefined for a personal access token without an end. */
  readonly expiresAt: number | undefined;
}
