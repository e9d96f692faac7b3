import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError, type ErrorKind } from "../domain-error.ts";
import { ERROR_TABLE } from "./error-table.ts";
import type { Log } from "./log.ts";
import type { Rpc } from "./rpc.ts";

/** A failure as every face tells it: a kind, a public sentence and the headers that go with it. */
export interface Fault {
  readonly kind: ErrorKind;
  readonly message: string;
  /** `Retry-After`, `WWW-Authenticate`, `Accept`; on RPC faces they travel as error metadata. */
  readonly headers: Readonly<Record<string, string>>;
  /** Set when the RPC faces need a code that no kind has, such as deadline_exceeded. */
  readonly code?: Code;
  /** Set when REST needs a status that no kind has, such as 415. */
  readonly httpStatus?: number;
}

/** A failure that transport itself finds, with headers of its own. */
export class TransportError extends DomainError {
  readonly headers: Readonly<Record<string, string>>;
  readonly httpStatus: number | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: { headers?: Readonly<Record<string, string>>; httpStatus?: number; retryAfterSeconds?: number } = {},
  ) {
    super(
      kind,
      message,
      options.retryAfterSeconds === undefined ? {} : { retryAfterSeconds: options.retryAfterSeconds },
    );
    this.name = "TransportError";
    this.headers = options.headers ?? {};
    this.httpStatus = options.httpStatus;
  }
}

/** What a caller is told when something unforeseen was thrown. */
const UNKNOWN_REASON = "internal error";

/** Any throw as a fault. What nobody foresaw is logged here, once, and never told to the caller. */
export function toFault(thrown: unknown, rpc: Rpc, log: Log): Fault {
  if (thrown instanceof DomainError) return domainFault(thrown, rpc, log);
  if (thrown instanceof ConnectError) return connectFault(thrown);
  log.error({ err: thrown, rpc: rpc.path }, "call failed");
  return { kind: "internal", message: internalText(rpc, UNKNOWN_REASON), headers: {} };
}

/** The fault as Connect, gRPC and gRPC-Web write it. */
export function toConnectError(fault: Fault): ConnectError {
  return new ConnectError(fault.message, fault.code ?? ERROR_TABLE[fault.kind].code, fault.headers);
}

/** The status that REST answers a fault with. */
export function httpStatusOf(fault: Fault): number {
  return fault.httpStatus ?? ERROR_TABLE[fault.kind].httpStatus;
}

function domainFault(error: DomainError, rpc: Rpc, log: Log): Fault {
  const headers: Record<string, string> = error instanceof TransportError ? { ...error.headers } : {};
  if (error.retryAfterSeconds !== undefined)
    headers["retry-after"] = String(Math.max(1, Math.ceil(error.retryAfterSeconds)));
  if (error.kind === "internal") {
    log.error({ err: error, rpc: rpc.path }, "call failed");
    return { kind: "internal", message: internalText(rpc, error.message), headers };
  }
  const httpStatus = error instanceof TransportError ? error.httpStatus : undefined;
  return { kind: error.kind, message: error.message, headers, ...(httpStatus !== undefined && { httpStatus }) };
}

function internalText(rpc: Rpc, reason: string): string {
  return rpc.texts.internal === "" ? reason : `${rpc.texts.internal}: ${reason}`;
}

function connectFault(error: ConnectError): Fault {
  const kind = KIND_OF_CODE[error.code] ?? "internal";
  return { kind, message: error.rawMessage, headers: Object.fromEntries(error.metadata), code: error.code };
}

const KIND_OF_CODE: Readonly<Partial<Record<Code, ErrorKind>>> = {
  [Code.InvalidArgument]: "invalid",
  [Code.OutOfRange]: "invalid",
  [Code.Unauthenticated]: "unauthenticated",
  [Code.PermissionDenied]: "forbidden",
  [Code.NotFound]: "not_found",
  [Code.AlreadyExists]: "conflict",
  [Code.Aborted]: "conflict",
  [Code.FailedPrecondition]: "stale",
  [Code.ResourceExhausted]: "exhausted",
  [Code.Unavailable]: "unavailable",
  [Code.DeadlineExceeded]: "unavailable",
  [Code.Canceled]: "unavailable",
};
