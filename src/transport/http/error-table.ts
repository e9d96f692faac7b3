import { Code } from "@connectrpc/connect";
import type { ErrorKind } from "../../error-reason.ts";

/** The Connect code and HTTP status of a kind of failure. */
export interface ErrorRow {
  readonly code: Code;
  readonly httpStatus: number;
}

/** Maps each kind of failure to a Connect code and an HTTP status (DESIGN §6 «Errors»). */
export const ERROR_TABLE: Readonly<Record<ErrorKind, ErrorRow>> = {
  invalid: { code: Code.InvalidArgument, httpStatus: 400 },
  unauthenticated: { code: Code.Unauthenticated, httpStatus: 401 },
  forbidden: { code: Code.PermissionDenied, httpStatus: 403 },
  not_found: { code: Code.NotFound, httpStatus: 404 },
  conflict: { code: Code.Aborted, httpStatus: 409 },
  stale: { code: Code.FailedPrecondition, httpStatus: 412 },
  too_large: { code: Code.ResourceExhausted, httpStatus: 413 },
  exhausted: { code: Code.ResourceExhausted, httpStatus: 429 },
  internal: { code: Code.Internal, httpStatus: 500 },
  unavailable: { code: Code.Unavailable, httpStatus: 503 },
};
