import type { Micros } from "../token-id.ts";

/** What a revocation covers: one token, or all tokens of a client, a bound connection, an account or a grant. */
export const REVOCATION_KINDS = ["token", "client", "connection", "account", "grant"] as const;

export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** A rule that invalidates tokens with valid signatures. */
export interface Revocation {
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Invalidates tokens issued at or before this instant; undefined invalidates all, permanently. For an account, an
   * instant covers only access tokens, because personal access tokens are revoked one by one.
   */
  readonly before: Micros | undefined;
  /** Whether it replaces a broader revocation, after a disabled account is enabled. */
  readonly isNarrowing?: boolean;
  /** When the database stored it, by its clock; undefined while only this replica knows it. */
  readonly revokedAt?: Micros | undefined;
  /** When it can be deleted: Infinity for never, undefined if unknown. */
  readonly expiresAt?: Micros | undefined;
}
