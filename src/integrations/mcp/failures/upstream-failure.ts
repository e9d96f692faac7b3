import type { JsonValue } from "../../../json.ts";

/**
 * How an upstream failed.
 *
 * `session_lost` and `refused` say that the request was not carried out; `broken` and `timeout` that nobody knows. By HTTP
 * status, `busy` is 429, `declined` another one below 500, `http` one from 500.
 */
export type FailureKind =
  | "refused"
  | "unreachable"
  | "timeout"
  | "broken"
  | "too_large"
  | "unauthorized"
  | "session_lost"
  | "busy"
  | "declined"
  | "http"
  | "not_mcp"
  | "rpc";

/** A JSON-RPC error. */
export interface RpcAnswer {
  readonly code: number;
  readonly message: string;
  readonly data: JsonValue | undefined;
}

/** A failure of a remote MCP server, with a public sentence that names its host, the cause, and what a person can do. */
export class UpstreamFailure extends Error {
  readonly kind: FailureKind;
  /** The JSON-RPC error code, for kind `rpc`. */
  readonly code: number | undefined;
  /** For kind `rpc`: what the upstream answered, its secrets struck out. */
  readonly answer: RpcAnswer | undefined;
  /** For kind `busy`: how long the upstream asks to wait, in milliseconds, where it says so. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      cause?: unknown;
      code?: number;
      answer?: RpcAnswer | undefined;
      retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "UpstreamFailure";
    this.kind = kind;
    this.code = options.code;
    this.answer = options.answer;
    this.retryAfterMs = options.retryAfterMs;
  }
}
