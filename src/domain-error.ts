import { type ErrorKind, type ErrorReason, reasonOfKind } from "./error-reason.ts";

/**
 * A failure with a public sentence and a private cause.
 *
 * `message` is written for the caller and must never hold a secret; `cause` is for the log alone.
 */
export class DomainError extends Error {
  readonly kind: ErrorKind;
  /** What programs tell the failure by; that of the kind unless told. */
  readonly reason: ErrorReason;
  /** Seconds after which trying again may help; becomes `Retry-After`. */
  readonly retryAfterSeconds: number | undefined;
  /** The request field at fault, for kind `invalid`. */
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

/** Bad input: names the field, the rule and, where it is no secret, the value. */
export function invalid(field: string, message: string): DomainError {
  return new DomainError("invalid", message, { field });
}
