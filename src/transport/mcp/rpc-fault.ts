import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError } from "../../domain-error.ts";
import type { ErrorKind } from "../../error-reason.ts";
import type { JsonValue } from "../../json.ts";
import { RpcError } from "../../integrations/rpc-error.ts";
import { httpStatusOf, toFault } from "../http/fault.ts";
import type { HeaderFields } from "../http/exchange.ts";
import type { Log } from "../http/log.ts";

/** JSON-RPC's and MCP's error codes. */
export const CODES = {
  parse: -32700,
  invalidRequest: -32600,
  methodNotFound: -32601,
  invalidParams: -32602,
  internal: -32603,
  /** Whatever has no code of its own. */
  server: -32000,
  /** What servers of the SDKs answer for a session that is gone; clients know it. */
  sessionNotFound: -32001,
  resourceNotFound: -32002,
  headerMismatch: -32020,
  missingCapability: -32021,
  unsupportedVersion: -32022,
} as const;

/** A failure as JSON-RPC over HTTP tells it. */
export class RpcFault extends Error {
  readonly code: number;
  /** 200 for what went wrong within a method: the error is the payload then, not a failure of HTTP. */
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

/** The refusal of headers that say something else than the body, or nothing. */
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
 * The service's own outage, as opposed to an upstream's: it passes, so it says when to try again. It is a failure of HTTP
 * wherever it happens, so that clients and load balancers that know only HTTP try again.
 */
function isOutage(thrown: DomainError): boolean {
  return thrown.kind === "unavailable" && thrown.retryAfterSeconds !== undefined;
}

/** What a method threw, as an answer within HTTP 200 but for outages. What nobody foresaw is logged here and never told. */
export function methodFault(thrown: unknown, log: Log): RpcFault {
  if (thrown instanceof RpcFault) return thrown;
  if (thrown instanceof RpcError) {
    // MCP has this error be a failure of HTTP wherever it comes from.
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

/** What was thrown before any method ran, with the HTTP status that says so. */
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
