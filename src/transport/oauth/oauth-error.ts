import type { ErrorKind } from "../../error-reason.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { answerJson } from "../http/answer.ts";
import { httpStatusOf, toFault, TransportError } from "../http/fault.ts";
import type { Log } from "../http/log.ts";

/** A refusal in the words of RFC 6749 §5.2. The description is public. */
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

/** 401 with the challenge that RFC 6749 §5.2 asks for. Never says which of client and secret was wrong. */
export function invalidClient(issuer: string, description: string): OAuthError {
  return new OAuthError(401, "invalid_client", description, {
    "www-authenticate": `Basic realm="${issuer}", error="invalid_client", charset="UTF-8"`,
  });
}

/** 400 for a request that is not as RFC 6749 defines it. */
export function invalidRequest(description: string): OAuthError {
  return new OAuthError(400, "invalid_request", description);
}

/** What programs that ask for tokens are not to keep. */
export const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

/** The `error` member for failures that are no OAuthError; `invalid_request` for the rest. */
const ERRORS: Readonly<Partial<Record<ErrorKind, string>>> = {
  unavailable: "temporarily_unavailable",
  // RFC 6749 has no error for this one; a server that cannot serve now is the nearest.
  exhausted: "temporarily_unavailable",
  internal: "server_error",
};

/** Answers failures as RFC 6749 §5.2 has them; failures of the service are logged, and nothing of its cause told. */
export function createFailAsOAuth(log: Log): (exchange: HttpExchange, thrown: unknown) => void {
  return (exchange, thrown) => {
    const fault = toFault(thrown);
    const status = httpStatusOf(fault);
    if (status >= 500) log.error({ err: thrown }, "the authorization server failed");
    const isInternal = fault.kind === "internal";
    const error = thrown instanceof OAuthError ? thrown.code : (ERRORS[fault.kind] ?? "invalid_request");
    const error_description = isInternal ? "The request failed on our side." : fault.message;
    answerJson(exchange, status, { error, error_description }, { ...NO_STORE, ...fault.headers });
  };
}
