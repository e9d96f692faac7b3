/**
 * Whose fault it is that there is no token: what an owner authorised has `ended` and only they can authorise it anew; the
 * authorization server `refused` what was asked or configured, is `busy` or `down`, or failed in some `other` way.
 */
export type TokenFailureKind = "ended" | "refused" | "busy" | "down" | "other";

/** A token that cannot be had. The message is a public sentence, secrets struck out. */
export class TokenFailure extends Error {
  override readonly name = "TokenFailure";
  readonly kind: TokenFailureKind;
  /** For `busy`: how long the server asks to wait, in milliseconds, where it says so. */
  readonly retryAfterMs: number | undefined;

  /** The error word of RFC 6749 §5.2, where the server said one. */
  readonly code: string | undefined;

  constructor(
    kind: TokenFailureKind,
    message: string,
    options: { cause?: unknown; retryAfterMs?: number; code?: string } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.kind = kind;
    this.retryAfterMs = options.retryAfterMs;
    this.code = options.code;
  }
}
