import type { JsonValue } from "../../../json.ts";

/**
 * `session_lost` and `refused` mean that the request was not executed; after `broken` and `timeout` that is unknown.
 * For HTTP errors, `busy` means status 429, `declined` another status below 500, and `http` status 500 or above.
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

export interface RpcAnswer {
  readonly code: number;
  readonly message: string;
  readonly data: JsonValue | undefined;
}

/** A failure of a remote MCP server. The message is public: host, cause and remedy. */
export class UpstreamFailure extends Error {
  readonly kind: FailureKind;
  /** The JSON-RPC error code, for kind `rpc`. */
  readonly code: number | undefined;
  /** For kind `rpc`: the upstream's error, secrets redacted. */
  readonly answer: RpcAnswer | undefined;
  /** The protocol revisions that the server supports, if it refused the revision of the request and lists them. */
  readonly supportedVersions: readonly string[];
  /** For kind `busy`: the requested wait in milliseconds, if stated. */
  readonly retryAfterMs: number | undefined;

  constructor(
    kind: FailureKind,
    message: string,
    options: {
      cause?: unknown;
      code?: number;
      answer?: RpcAnswer | undefined;
      supportedVersions?: readonly string[];
      retryAfterMs?: number | undefined;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = "UpstreamFailure";
    this.kind = kind;
    this.code = options.code;
    this.answer = options.answer;
    this.supportedVersions = options.supportedVersions ?? [];
    this.retryAfterMs = options.retryAfterMs;
  }
}
