import type { ConnectError } from "@connectrpc/connect";
import { BadRequestSchema, ErrorInfoSchema, RetryInfoSchema } from "../../../gen/proto/google/rpc/error_details_pb.ts";
import { invalidField, type Fault } from "../http/fault.ts";

/** An error detail in the form that Connect accepts. */
export type ErrorDetail = ConstructorParameters<typeof ConnectError>[3] extends readonly (infer Detail)[] | undefined
  ? Detail
  : never;

/** The domain of our reasons (`ErrorInfo.domain`). */
const ERROR_DOMAIN = "patchbay.dev";

/**
 * The details of an RPC error: always an ErrorInfo; a BadRequest for an invalid field; a RetryInfo if waiting helps,
 * with the seconds of REST's `Retry-After`.
 */
export function detailsOf(fault: Omit<Fault, "kind" | "headers">): ErrorDetail[] {
  const { reason, retryAfterSeconds, message, metadata = {} } = fault;
  const field = invalidField(fault);
  const details: ErrorDetail[] = [{ desc: ErrorInfoSchema, value: { reason, domain: ERROR_DOMAIN, metadata } }];
  if (field !== undefined) {
    const violation = { field, description: message, reason };
    details.push({ desc: BadRequestSchema, value: { fieldViolations: [violation] } });
  }
  if (retryAfterSeconds !== undefined) {
    const seconds = BigInt(Math.max(1, Math.ceil(retryAfterSeconds)));
    details.push({ desc: RetryInfoSchema, value: { retryDelay: { seconds } } });
  }
  return details;
}
