import { DomainError } from "../domain-error.ts";
import type { JsonValue } from "../json.ts";

const INVALID_PARAMS = -32602;

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
