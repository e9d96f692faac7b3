import type { JsonValue } from "../json.ts";

/**
 * A JSON-RPC error that an upstream answered with, for the client as it came: code, sentence and `data`.
 *
 * Only for what has no other form. A tool's failure is a result with `isError`; an upstream that cannot be asked is a
 * DomainError `unavailable`.
 */
export class RpcError extends Error {
  readonly code: number;
  readonly data: JsonValue | undefined;

  constructor(code: number, message: string, data?: JsonValue) {
    super(message);
    this.name = "RpcError";
    this.code = code;
    this.data = data;
  }
}
