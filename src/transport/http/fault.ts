import type { Code } from "@connectrpc/connect";
import { DomainError } from "../../domain-error.ts";
import type { ErrorKind, ErrorReason } from "../../error-reason.ts";
import { ERROR_TABLE } from "./error-table.ts";

/** A failure as every protocol handler tells it: a kind, a reason, a public sentence and the headers that go with it. */
export interface Fault {
  readonly kind: ErrorKind;
  readonly reason: ErrorReason;
  readonly message: string;
  /** `Retry-After`, `WWW-Authenticate`, `Accept`; over RPC they travel as error metadata. */
  readonly headers: Readonly<Record<string, string>>;
  /** The request field at fault. */
  readonly field?: string | undefined;
  /** Seconds after which trying again may help. */
  readonly retryAfterSeconds?: number | undefined;
  /** What programs may want to know besides the reason, by name. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Set when RPC needs a code that no kind has, such as deadline_exceeded. */
  readonly code?: Code;
  /** Set when HTTP needs a status that no kind has, such as 415. */
  readonly httpStatus?: number;
}

/** A failure that the transport layer detects, with response headers. */
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

/** The fault of an error that nobody foresaw. Its cause is for the log alone. */
const UNFORESEEN: Fault = { kind: "internal", reason: "INTERNAL", message: "internal error", headers: {} };

/** Any throw as a fault. */
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

/** The status that HTTP answers a fault with. */
export function httpStatusOf(fault: Fault): number {
  return fault.httpStatus ?? ERROR_TABLE[fault.kind].httpStatus;
}

/** A path at which there is nothing. */
export function routeNotFound(): TransportError {
  return new TransportError("not_found", "Not found.", { reason: "ROUTE_NOT_FOUND" });
}

/** A method that a path does not take. */
export function methodNotAllowed(allow: string): TransportError {
  return new TransportError("invalid", "Method not allowed.", {
    reason: "METHOD_NOT_ALLOWED",
    httpStatus: 405,
    headers: { allow },
  });
}
