import { DomainError } from "../domain-error.ts";
import type { JsonValue } from "../json.ts";

/** Error codes of JSON-RPC 2.0, section 5.1. */
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;
/** 2026-07-28: the client did not declare a capability that the request needs. */
export const MISSING_CAPABILITY = -32021;

/**
 * An upstream's JSON-RPC error, passed unchanged to MCP clients. A tool's failure is a result with `isError` instead;
 * an unreachable upstream is DomainError `unavailable`.
 */
export class RpcError extends DomainError {
  readonly code: number;
  readonly data: JsonValue | undefined;
  /** A sentence for callers that do not speak JSON-RPC. */
  readonly explanation: string;

  constructor(
    { code, message, data }: { readonly code: number; readonly message: string; readonly data?: JsonValue | undefined },
    explanation: string = message,
  ) {
    super(code === INVALID_PARAMS ? "invalid" : "unavailable", message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
    this.explanation = explanation;
  }
}
