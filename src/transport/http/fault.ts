import type { Code } from "@connectrpc/connect";
import { DomainError } from "../../domain-error.ts";
import type { ErrorKind, ErrorReason } from "../../error-reason.ts";
import { ERROR_TABLE } from "./error-table.ts";

/** A failure in the form that all protocol handlers use: kind, reason, public text and headers. */
export interface Fault {
  readonly kind: ErrorKind;
  readonly reason: ErrorReason;
  readonly message: string;
  /** `Retry-After`, `WWW-Authenticate`, `Accept`; over RPC they are sent as error metadata. */
  readonly headers: Readonly<Record<string, string>>;
  /** The invalid request field. */
  readonly field?: string | undefined;
  /** Seconds after which a retry may succeed. */
  readonly retryAfterSeconds?: number | undefined;
  /** Further details for programs, by name. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Overrides the RPC code of the kind, for example deadline_exceeded. */
  readonly code?: Code;
  /** Overrides the HTTP status of the kind, for example 415. */
  readonly httpStatus?: number;
}

/** A failure detected by the transport, with response headers. */
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
      cause?: unknown;
    } = {},
  ) {
    super(kind, message, options);
    this.name = "TransportError";
    this.headers = options.headers ?? {};
    this.httpStatus = options.httpStatus;
    this.metadata = options.metadata;
  }
}

/** The fault of an unexpected error. Its cause is only logged. */
const UNFORESEEN: Fault = { kind: "internal", reason: "INTERNAL", message: "internal error", headers: {} };

/** Converts any thrown value to a fault. */
export function toFault(thrown: unknown): Fault {
  if (!(thrown instanceof DomainError)) return UNFORESEEN;
  const own = thrown instanceof TransportError ? thrown : undefined;
  const { kind, reason, message, field, retryAfterSeconds } = thrown;
  const headers: Record<string, string> = { ...own?.headers };
  if (retryAfterSeconds !== undefined) headers["retry-after"] = String(Math.max(1, Math.ceil(retryAfterSeconds)));
  if (kind === "internal") return { kind, reason, message, headers };
  const httpStatus = own?.httpStatus;
  return {
    ...{ kind, reason, message, headers, field, retryAfterSeconds, metadata: own?.metadata },
    ...(httpStatus !== undefined && { httpStatus }),
  };
}

/** The field that the response names. Every protocol names it for the same faults. */
export function invalidField({ reason, field }: Pick<Fault, "reason" | "field">): string | undefined {
  return reason === "INVALID_ARGUMENT" ? field : undefined;
}

export function httpStatusOf(fault: Fault): number {
  return fault.httpStatus ?? ERROR_TABLE[fault.kind].httpStatus;
}

/** The error for an unknown path. */
export function routeNotFound(): TransportError {
  return new TransportError("not_found", "Not found.", { reason: "ROUTE_NOT_FOUND" });
}

/** The error for a method that the path does not support. */
export function methodNotAllowed(allow: string): TransportError {
  return new TransportError("invalid", "Method not allowed.", {
    reason: "METHOD_NOT_ALLOWED",
    httpStatus: 405,
    headers: { allow },
  });
}
