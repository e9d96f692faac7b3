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

  constructor(code: number, message: string, data?: JsonValue) {
    super(code === INVALID_PARAMS ? "invalid" : "unavailable", message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}
