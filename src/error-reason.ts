/** Kinds of failures. `transport/` maps each to a Connect code and an HTTP status. */
export type ErrorKind =
  | "invalid"
  | "unauthenticated"
  | "forbidden"
  | "not_found"
  | "conflict"
  | "stale"
  | "exhausted"
  | "too_large"
  | "unavailable"
  | "internal";

/**
 * Stable failure codes for programs: `code` in REST, `google.rpc.ErrorInfo.reason` in RPC. `error_reason.proto`
 * documents them; a test compares both with the OpenAPI document.
 */
export const ERROR_REASONS = [
  "INVALID_ARGUMENT",
  "MALFORMED_REQUEST",
  "CREDENTIALS_MISSING",
  "CREDENTIALS_INVALID",
  "INSUFFICIENT_SCOPE",
  "PERMISSION_DENIED",
  "NOT_FOUND",
  "ROUTE_NOT_FOUND",
  "METHOD_NOT_ALLOWED",
  "CONFLICT",
  "PRECONDITION_FAILED",
  "REQUEST_TOO_LARGE",
  "UNSUPPORTED_MEDIA_TYPE",
  "HEADERS_TOO_LARGE",
  "RATE_LIMITED",
  "QUOTA_EXCEEDED",
  "INTERNAL",
  "UNAVAILABLE",
  "OVERLOADED",
  "DEADLINE_EXCEEDED",
  "CANCELLED",
  "IDEMPOTENCY_KEY_REUSED",
] as const;

export type ErrorReason = (typeof ERROR_REASONS)[number];

/** The default reason. An exhausted limit with a retry time is a rate limit, without one a quota. */
export function reasonOfKind(kind: ErrorKind, retryAfterSeconds: number | undefined): ErrorReason {
  return kind === "exhausted" && retryAfterSeconds === undefined ? "QUOTA_EXCEEDED" : REASONS[kind];
}

const REASONS: Readonly<Record<ErrorKind, ErrorReason>> = {
  invalid: "INVALID_ARGUMENT",
  unauthenticated: "CREDENTIALS_INVALID",
  forbidden: "PERMISSION_DENIED",
  not_found: "NOT_FOUND",
  conflict: "CONFLICT",
  stale: "PRECONDITION_FAILED",
  exhausted: "RATE_LIMITED",
  too_large: "REQUEST_TOO_LARGE",
  unavailable: "UNAVAILABLE",
  internal: "INTERNAL",
};
