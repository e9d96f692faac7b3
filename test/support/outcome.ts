import type { JsonValue } from "../../src/json.ts";

/** The result of a call over any protocol. */
export interface Outcome {
  /** The HTTP status on REST; otherwise the Connect code's name, `ok` for success. */
  readonly status: number | string;
  /** The response as JSON with the contract's field names; on REST also the error body. */
  readonly body: JsonValue;
  /** The error message; empty on success. */
  readonly message: string;
  /** The error reason: `code` on REST, otherwise from the ErrorInfo. Empty on success. */
  readonly reason: string;
  /** The field at fault: `field` on REST, otherwise from the BadRequest. Empty without one. */
  readonly field: string;
  /** The response headers; for an RPC error its metadata. */
  readonly headers: Headers;
}

export const PROTOCOL_NAMES = ["rest", "connect", "grpc", "grpc-web"] as const;

export type ProtocolName = (typeof PROTOCOL_NAMES)[number];
