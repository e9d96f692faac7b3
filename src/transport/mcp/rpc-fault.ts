import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError } from "../../domain-error.ts";
import type { ErrorKind } from "../../error-reason.ts";
import type { JsonValue } from "../../json.ts";
import { MISSING_CAPABILITY, RpcError } from "../../integrations/rpc-error.ts";
import { httpStatusOf, toFault } from "../http/fault.ts";
import type { HeaderFields } from "../http/exchange.ts";
import type { Log } from "../http/log.ts";

/** Error codes of JSON-RPC and MCP. */
export const CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** For errors without their own code. */
  server: -32000,
  /** The code that the official SDKs use for an ended session. */
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: MISSING_CAPABILITY,
  unsupportedVersion: -32022,
} as const;

/** An error as JSON-RPC over HTTP. */
export class RpcFault extends Error {
  readonly code: number;
  /** 200 for errors within a method, which are not HTTP failures. */
  readonly httpStatus: number;
  readonly data: JsonValue | undefined;
  readonly headers: HeaderFields;

  constructor(
    code: number,
    message: string,
    options: {
      readonly httpStatus?: number;
      readonly data?: JsonValue | undefined;
      readonly headers?: HeaderFields;
    } = {},
  ) {
    super(message);
    this.name = "RpcFault";
    this.code = code;
    this.httpStatus = options.httpStatus ?? 200;
    this.data = options.data;
    this.headers = options.headers ?? {};
  }
}

export function headerMismatch(message: string): RpcFault {
  return new RpcFault(CODES.headerMismatch, message, { httpStatus: 400 });
}

const CODE_OF_KIND: Readonly<Record<ErrorKind, number>> = {
  invalid: CODES.invalidParams,
  not_found: CODES.invalidParams,
  unauthenticated: CODES.server,
  forbidden: CODES.server,
  conflict: CODES.server,
  stale: CODES.server,
  exhausted: CODES.server,
  too_large: CODES.invalidRequest,
  unavailable: CODES.server,
  internal: CODES.internal,
};

/**
 * Whether the service itself, not an upstream, is temporarily unavailable. Such errors have an HTTP error status, so
 * that HTTP clients and load balancers retry.
 */
function isOutage(thrown: DomainError): boolean {
  return thrown.kind === "unavailable" && thrown.retryAfterSeconds !== undefined;
}

/** Converts the error of a method to a response with HTTP 200, or 503 for an outage. Unexpected errors are logged and not disclosed. */
export function methodFault(thrown: unknown, log: Log): RpcFault {
  if (thrown instanceof RpcFault) return thrown;
  if (thrown instanceof RpcError) {
    // MCP requires an HTTP failure for this code.
    const httpStatus = thrown.code === CODES.missingCapability ? 400 : 200;
    return new RpcFault(thrown.code, thrown.message, { data: thrown.data, httpStatus });
  }
  if (thrown instanceof DomainError && isOutage(thrown)) return requestFault(thrown, log);
  if (thrown instanceof DomainError && thrown.kind !== "internal") {
    return new RpcFault(CODE_OF_KIND[thrown.kind], thrown.message);
  }
  log.error({ err: thrown }, "MCP request failed");
  return new RpcFault(CODES.internal, thrown instanceof DomainError ? thrown.message : "Internal error.");
}

/** Converts an error thrown before a method runs, with its HTTP status. */
export function requestFault(thrown: unknown, log: Log): RpcFault {
  if (thrown instanceof RpcFault) return thrown;
  if (thrown instanceof ConnectError && thrown.code === Code.DeadlineExceeded) {
    return new RpcFault(CODES.server, thrown.rawMessage, { httpStatus: 504 });
  }
  const fault = toFault(thrown);
  const { kind, field, message, headers } = fault;
  if (kind === "internal") {
    log.error({ err: thrown }, "MCP request failed");
    return new RpcFault(CODES.internal, "Internal error.", { httpStatus: 500 });
  }
  const code = field === "body" ? CODES.parse : requestCode(kind);
  return new RpcFault(code, message, { httpStatus: httpStatusOf(fault), headers });
}

function requestCode(kind: ErrorKind): number {
  if (kind === "invalid") return CODES.invalidRequest;
  return kind === "not_found" ? CODES.sessionNotFound : CODE_OF_KIND[kind];
}
