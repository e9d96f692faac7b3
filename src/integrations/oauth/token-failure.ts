/**
 * `ended`: the owner must authorize again. `refused`: the server rejected the request or the configuration. `busy`,
 * `down` and `other` are faults of the server.
 */
export type TokenFailureKind = "ended" | "refused" | "busy" | "down" | "other";

/** A failed token request. The message is public, secrets redacted. */
export class TokenFailure extends Error {
  override readonly name = "TokenFailure";
  readonly kind: TokenFailureKind;
  /** For `busy`: the requested wait in milliseconds, if stated. */
  readonly retryAfterMs: number | undefined;

  /** The error code of RFC 6749 §5.2, if any. */
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
