import type { JsonValue } from "../../src/json.ts";

/** How a call ended, alike for all protocols. */
export interface Outcome {
  /** The HTTP status on REST; the Connect code's name elsewhere, `ok` for success. */
  readonly status: number | string;
  /** The answer as JSON with the contract's field names; on REST the error body too. */
  readonly body: JsonValue;
  /** The public sentence of a failure; empty on success. */
  readonly message: string;
  /** The reason of a failure for programs: `code` on REST, the ErrorInfo's elsewhere. Empty on success. */
  readonly reason: string;
  /** Headers of the answer; for a failure over RPC its metadata. */
  readonly headers: Headers;
}

/** The words of the protocols. */
export const PROTOCOL_NAMES = ["rest", "connect", "grpc", "grpc-web"] as const;

/** One protocol. */
export type ProtocolName = (typeof PROTOCOL_NAMES)[number];
