/** The closed list of ways in which a request can fail. `transport/` maps each to a Connect code and an HTTP status. */
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
 * Every reason that a failure is told with, stable for programs: `code` on REST, `google.rpc.ErrorInfo.reason` on the RPC
 * faces. What each means is said in `error_reason.proto`; a test holds the two and the OpenAPI document together.
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

/** One of the closed list of reasons. */
export type ErrorReason = (typeof ERROR_REASONS)[number];

/** The reason of a failure that names none of its own. What is exhausted and comes back with time was a rate, the rest a quota. */
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
