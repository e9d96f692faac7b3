import type { Micros } from "../token-id.ts";

/** What a revocation is about: one token, all of a client, all bound to a connection, all of an account, all of a grant. */
export const REVOCATION_KINDS = ["token", "client", "connection", "account", "grant"] as const;

/** One of them. */
export type RevocationKind = (typeof REVOCATION_KINDS)[number];

/** A rule that tokens are no longer honoured although their signatures hold. */
export interface Revocation {
  readonly kind: RevocationKind;
  /** The `jti`, client id, connection id in decimal, account id, or grant id. */
  readonly subject: string;
  /**
   * Tokens issued at or before this moment are refused; undefined refuses all, for good. A moment of an account is about
   * its access tokens alone: personal access tokens are no sessions, and are revoked one by one.
   */
  readonly before: Micros | undefined;
  /** Whether it takes the place of a broader one: the account that was disabled is in use again. */
  readonly isNarrowing?: boolean;
  /** When the database wrote it, on its clock; undefined while only this replica knows of it. */
  readonly revokedAt?: Micros | undefined;
  /** When it has nothing left to refuse: Infinity for never, undefined while that is not known. */
  readonly expiresAt?: Micros | undefined;
}
