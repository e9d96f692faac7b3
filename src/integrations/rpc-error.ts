import { DomainError } from "../domain-error.ts";
import type { JsonValue } from "../json.ts";

const INVALID_PARAMS = -32602;

/**
 * A JSON-RPC error that an upstream answered with, for MCP clients as it came: code, sentence and `data`.
 *
 * Only for what has no other form. A tool's failure is a result with `isError`; an upstream that cannot be asked is a
 * DomainError `unavailable`.
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
