import type { ErrorKind } from "../../error-reason.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { answerJson } from "../http/answer.ts";
import { httpStatusOf, toFault, TransportError } from "../http/fault.ts";
import type { Log } from "../http/log.ts";

/** An error of RFC 6749 §5.2. The description is public. */
export class OAuthError extends TransportError {
  /** The `error` member. */
  readonly code: string;

  constructor(
    status: number,
    code: string,
    description: string,
    headers: Readonly<Record<string, string>> = {},
    cause?: unknown,
  ) {
    super(status === 401 ? "unauthenticated" : "invalid", description, { httpStatus: status, headers, cause });
    this.name = "OAuthError";
    this.code = code;
  }
}

/** 401 with the challenge that RFC 6749 §5.2 requires. Does not reveal whether the client or the secret was wrong. */
export function invalidClient(issuer: string, description: string): OAuthError {
  return new OAuthError(401, "invalid_client", description, {
    "www-authenticate": `Basic realm="${issuer}", error="invalid_client", charset="UTF-8"`,
  });
}

/** 400 for a malformed request. */
export function invalidRequest(description: string): OAuthError {
  return new OAuthError(400, "invalid_request", description);
}

/** Headers of responses with tokens, which must not be cached. */
export const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

/** The `error` member for other errors; default `invalid_request`. */
const ERRORS: Readonly<Partial<Record<ErrorKind, string>>> = {
  unavailable: "temporarily_unavailable",
  // RFC 6749 has no error for this case; this one is the closest.
  exhausted: "temporarily_unavailable",
  internal: "server_error",
};

/** Sends failures as RFC 6749 §5.2 requires. Failures of the service are logged and their cause is not sent. */
export function createFailAsOAuth(log: Log): (exchange: HttpExchange, thrown: unknown) => void {
  return (exchange, thrown) => {
    const fault = toFault(thrown);
    const status = httpStatusOf(fault);
    if (status >= 500) log.error({ err: thrown }, "the authorization server failed");
    const isInternal = fault.kind === "internal";
    const error = thrown instanceof OAuthError ? thrown.code : (ERRORS[fault.kind] ?? "invalid_request");
    const error_description = isInternal ? "The request failed because of an internal error." : fault.message;
    answerJson(exchange, status, { error, error_description }, { ...NO_STORE, ...fault.headers });
  };
}
