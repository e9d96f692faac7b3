import type { ErrorReason } from "../../error-reason.ts";
import type { HeaderFields, HttpExchange } from "./exchange.ts";
import { httpStatusOf, invalidField, toFault, type Fault } from "./fault.ts";
import type { Log } from "./log.ts";

/** Headers of every JSON response: no cache may store it, and browsers must not read it as another type. */
export const JSON_HEADERS: HeaderFields = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** Headers of every event stream. */
export const EVENT_STREAM_HEADERS: HeaderFields = {
  "content-type": "text/event-stream",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
  "x-accel-buffering": "no",
};

/** Content security policy of responses that are not pages: forbids everything. */
const INERT: HeaderFields = { "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };

/** Sends JSON, whatever the caller accepts. */
export function answerJson(exchange: HttpExchange, status: number, body: unknown, headers: HeaderFields = {}): void {
  const type = { "content-type": "application/json; charset=utf-8" };
  exchange.respond(status, { ...JSON_HEADERS, ...type, ...headers }, JSON.stringify(body));
}

/** Writes every `{detail}` error (SPEC «Errors») with its reason as `code` and the invalid field as `field`. */
export function answerFault(exchange: HttpExchange, fault: Fault): void {
  exchange.respond(httpStatusOf(fault), { ...JSON_HEADERS, ...INERT, ...fault.headers }, faultBody(fault));
}

/** The body of a failure outside `/oauth2/*`. */
export function faultBody(fault: Fault): string {
  return errorBody(fault.reason, fault.message, invalidField(fault));
}

/** Sends `{detail, code}` for an error outside of any RPC, such as an unknown path or method. */
export function answerDetail(
  exchange: HttpExchange,
  status: number,
  code: ErrorReason,
  detail: string,
  headers: HeaderFields = {},
): void {
  exchange.respond(status, { ...JSON_HEADERS, ...INERT, ...headers }, errorBody(code, detail));
}

/** Sends failures of routes as `{detail, code}`. Unexpected errors are logged and their text is not sent. */
export function createFailWithDetail(log: Log): (exchange: HttpExchange, thrown: unknown) => void {
  return (exchange, thrown) => {
    const fault = toFault(thrown);
    if (httpStatusOf(fault) >= 500)
      log.error({ err: thrown, path: exchange.target.split("?", 1)[0] }, "request failed");
    answerFault(exchange, fault.kind === "internal" ? { ...fault, message: "Internal error." } : fault);
  };
}

/** The body of an error outside `/oauth2/*`. */
export function errorBody(code: ErrorReason, detail: string, field?: string): string {
  return JSON.stringify({ detail, code, ...(field !== undefined && { field }) });
}
