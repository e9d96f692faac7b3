import { Code, ConnectError } from "@connectrpc/connect";
import { DomainError } from "../../domain-error.ts";
import type { ErrorKind } from "../../error-reason.ts";
import type { ErrorReason } from "../../error-reason.ts";
import { detailsOf } from "../rpc/error-details.ts";
import { ERROR_TABLE } from "./error-table.ts";
import type { Log } from "./log.ts";
import type { Rpc } from "../rpc/rpc.ts";

/** A failure as every face tells it: a kind, a reason, a public sentence and the headers that go with it. */
export interface Fault {
  readonly kind: ErrorKind;
  readonly reason: ErrorReason;
  readonly message: string;
  /** `Retry-After`, `WWW-Authenticate`, `Accept`; on RPC faces they travel as error metadata. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request field at fault. */
  readonly field?: string | undefined;
  /** Seconds after which trying again may help. */
  readonly retryAfterSeconds?: number | undefined;
  /** What programs may want to know besides the reason, by name. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Set when the RPC faces need a code that no kind has, such as deadline_exceeded. */
  readonly code?: Code;
  /** Set when REST needs a status that no kind has, such as 415. */
  readonly httpStatus?: number;
}

/** A failure that transport itself finds, with headers of its own. */
export class TransportError extends DomainError {
  readonly headers: Readonly<Record<string, string>>;
  readonly httpStatus: number | undefined;
  readonly metadata: Readonly<Record<string, string>> | undefined;

  constructor(
    kind: ErrorKind,
    message: string,
    options: {
      headers?: Readonly<Record<string, string>>;
      httpStatus?: number;
      retryAfterSeconds?: number;
      reason?: ErrorReason;
      metadata?: Readonly<Record<string, string>>;
    } = {},
  ) {
    super(kind, message, options);
    this.name = "TransportError";
    this.headers = options.headers ?? {};
    this.httpStatus = options.httpStatus;
    this.metadata = options.metadata;
  }
}

/** What a caller is told when something unforeseen was thrown. */
const UNKNOWN_REASON = "internal error";

/** Any throw as a fault. What nobody foresaw is logged here, once, and never told to the caller. */
export function toFault(thrown: unknown, rpc: Rpc, log: Log): Fault {
  if (thrown instanceof DomainError) return domainFault(thrown, rpc, log);
  if (thrown instanceof ConnectError) return connectFault(thrown);
  log.error({ err: thrown, rpc: rpc.path }, "call failed");
  return { kind: "internal", reason: "INTERNAL", message: internalText(rpc, UNKNOWN_REASON), headers: {} };
}

/** The fault as Connect, gRPC and gRPC-Web write it, with its google.rpc details. */
export function toConnectError(fault: Fault): ConnectError {
  const code = fault.code ?? ERROR_TABLE[fault.kind].code;
  return new ConnectError(fault.message, code, fault.headers, detailsOf(fault));
}

/** The status that REST answers a fault with. */
export function httpStatusOf(fault: Fault): number {
  return fault.httpStatus ?? ERROR_TABLE[fault.kind].httpStatus;
}

function domainFault(error: DomainError, rpc: Rpc, log: Log): Fault {
  const own = error instanceof TransportError ? error : undefined;
  const headers: Record<string, string> = { ...own?.headers };
  const { kind, reason, field, retryAfterSeconds } = error;
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfterSeconds)));
  if (kind === "internal") {
    log.error({ err: error, rpc: rpc.path }, "call failed");
    return { kind, reason, message: internalText(rpc, error.message), headers };
  }
  const httpStatus = own?.httpStatus;
  return {
    kind,
    reason,
    message: error.message,
    headers,
    field,
    retryAfterSeconds,
    metadata: own?.metadata,
    ...(httpStatus !== undefined && { httpStatus }),
  };
}

function internalText(rpc: Rpc, reason: string): string {
  return rpc.texts.internal === "" ? reason : `${rpc.texts.internal}: ${reason}`;
}

function connectFault(error: ConnectError): Fault {
  const kind = KIND_OF_CODE[error.code] ?? "internal";
  const reason = reasonOfCode(error.code);
  return { kind, reason, message: error.rawMessage, headers: Object.fromEntries(error.metadata), code: error.code };
}

/** The reason of a failure that Connect, or what speaks its protocols, found in the request itself. */
export function reasonOfCode(code: Code): ErrorReason {
  return REASON_OF_CODE[code] ?? "INTERNAL";
}

const REASON_OF_CODE: Readonly<Partial<Record<Code, ErrorReason>>> = {
  [Code.InvalidArgument]: "MALFORMED_REQUEST",
  [Code.OutOfRange]: "MALFORMED_REQUEST",
  [Code.Unauthenticated]: "CREDENTIALS_INVALID",
  [Code.PermissionDenied]: "PERMISSION_DENIED",
  [Code.NotFound]: "NOT_FOUND",
  [Code.AlreadyExists]: "CONFLICT",
  [Code.Aborted]: "CONFLICT",
  [Code.FailedPrecondition]: "PRECONDITION_FAILED",
  [Code.ResourceExhausted]: "REQUEST_TOO_LARGE",
  [Code.Unimplemented]: "UNSUPPORTED_MEDIA_TYPE",
  [Code.Unavailable]: "UNAVAILABLE",
  [Code.DeadlineExceeded]: "DEADLINE_EXCEEDED",
  [Code.Canceled]: "CANCELLED",
};

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
