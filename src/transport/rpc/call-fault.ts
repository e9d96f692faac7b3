import { Code, ConnectError } from "@connectrpc/connect";
import type { ErrorKind, ErrorReason } from "../../error-reason.ts";
import { ERROR_TABLE } from "../http/error-table.ts";
import { toFault, type Fault } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import { detailsOf } from "./error-details.ts";
import type { Rpc } from "./rpc.ts";

/** What a call threw as a fault. What nobody foresaw is logged here, once, and never told to the caller. */
export function toCallFault(thrown: unknown, rpc: Rpc, log: Log): Fault {
  if (thrown instanceof ConnectError) return connectFault(thrown);
  const fault = toFault(thrown);
  if (fault.kind !== "internal") return fault;
  log.error({ err: thrown, rpc: rpc.path }, "call failed");
  const { internal } = rpc.texts;
  return internal === "" ? fault : { ...fault, message: `${internal}: ${fault.message}` };
}

/** The fault as Connect, gRPC and gRPC-Web write it, with its google.rpc details. */
export function toConnectError(fault: Fault): ConnectError {
  const code = fault.code ?? ERROR_TABLE[fault.kind].code;
  return new ConnectError(fault.message, code, fault.headers, detailsOf(fault));
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
