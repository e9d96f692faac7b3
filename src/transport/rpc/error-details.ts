import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/proto/google/rpc/error_details_pb.ts";
import type { Fault } from "../http/fault.ts";

/** An error detail as it is handed to Connect. */
export type ErrorDetail = ConstructorParameters<typeof ConnectError>[3] extends readonly (infer Detail)[] | undefined
  ? Detail
  : never;

/** Whose words the reasons are (`ErrorInfo.domain`). */
export const ERROR_DOMAIN = "patchbay.dev";

/**
 * What RPC says of a fault besides code and sentence: always an ErrorInfo; a BadRequest where a field is at fault,
 * a RetryInfo where waiting helps. The same seconds are REST's `Retry-After`.
 */
export function detailsOf(fault: Omit<Fault, "kind" | "headers">): ErrorDetail[] {
  const { reason, field, retryAfterSeconds, message, metadata = {} } = fault;
  const details: ErrorDetail[] = [{ desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN, metadata } }];
  if (field !== undefined && fault.reason === "INVALID_ARGUMENT") {
    const violation = { field, description: message, reason };
    details.push({ desc: BadRequestSchema, value: { fieldViolations: [violation] } });
  }
  if (retryAfterSeconds !== undefined) {
    const seconds = BigInt(Math.max(1, Math.ceil(retryAfterSeconds)));
    details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds } } });
  }
  return details;
}
