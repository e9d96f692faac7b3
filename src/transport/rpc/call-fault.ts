import { Code, ConnectError } from "@connectrpc/connect";
import type { ErrorKind, ErrorReason } from "../../error-reason.ts";
import { ERROR_TABLE } from "../http/error-table.ts";
import { toFault, type Fault } from "../http/fault.ts";
import type { Log } from "../http/log.ts";
import { detailsOf } from "./error-details.ts";
import type { Rpc } from "./rpc.ts";

/** Converts what a call threw to a fault. Unexpected errors are logged here once, and their text is not sent. */
export function toCallFault(thrown: unknown, rpc: Rpc, log: Log): Fault {
  if (thrown instanceof ConnectError) return connectFault(thrown);
  const fault = toFault(thrown);
  if (fault.kind !== "internal") return fault;
  log.error({ err: thrown, rpc: rpc.path }, "call failed");
  const { internal } = rpc.texts;
  return internal === "" ? fault : { ...fault, message: `${internal}: ${fault.message}` };
}

/** Converts a fault to the error that Connect, gRPC and gRPC-Web send, with its google.rpc details. */
export function toConnectError(fault: Fault): ConnectError {
  const code = fault.code ?? ERROR_TABLE[fault.kind].code;
  return new ConnectError(fault.message, code, fault.headers, detailsOf(fault));
}

function connectFault(error: ConnectError): Fault {
  const kind = KIND_OF_CODE[error.code] ?? "internal";
  const reason = reasonOfCode(error.code);
  return { kind, reason, message: error.rawMessage, headers: Object.fromEntries(error.metadata), code: error.code };
}

/** The reason of an error that Connect found in the request. */
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
