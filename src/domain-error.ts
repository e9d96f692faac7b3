import { type ErrorKind, type ErrorReason, reasonOfKind } from "./error-reason.ts";

/**
 * A failure with a public message and a private cause. `message` is for the caller and must never contain a secret;
 * `cause` is for the log only.
 */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /** A stable code for programs; by default the code of the kind. */
  readonly reason: ErrorReason;
  /** Seconds until a retry may succeed; sent as `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** The invalid request field, for kind `invalid`. */
  readonly field: string | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { cause?: unknown; retryAfterSeconds?: number; field?: string; reason?: ErrorReason } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "DomainError";
    this.kind = kind;
    this.reason = options.reason ?? reasonOfKind(kind, options.retryAfterSeconds);
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.field = options.field;
  }
}

/** The message names the field, the rule and, unless secret, the value. */
export function invalid(field: string, message: string): DomainError {
  return new DomainError("invalid", message, { field });
}
