import type { ErrorReason } from "../../error-reason.ts";
import { httpStatusOf, type Fault } from "./fault.ts";
import type { Exchange, HeaderFields } from "./exchange.ts";

/** What every JSON answer carries: it is for this caller alone and is nothing but JSON. */
export const JSON_HEADERS: HeaderFields = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** What a browser that was led to an answer may do with it: nothing. */
const INERT: HeaderFields = { "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };

/** The one writer of REST errors: `{detail}` (SPEC «Errors»), and the reason as `code`. */
export function answerFault(exchange: Exchange, fault: Fault): void {
  answerDetail(exchange, httpStatusOf(fault), fault.reason, fault.message, fault.headers);
}

/** Answers `{detail, code}` where there is no RPC to blame: unknown paths and methods. */
export function answerDetail(
  exchange: Exchange,
  status: number,
  code: ErrorReason,
  detail: string,
  headers: HeaderFields = {},
): void {
  exchange.respond(status, { ...JSON_HEADERS, ...INERT, ...headers }, errorBody(code, detail));
}

/** Tells which methods a path takes: with a 405, or as the answer to OPTIONS. */
export function refuseMethod(exchange: Exchange, allowed: readonly string[]): void {
  const headers = { allow: allowed.join(", ") };
  if (exchange.method === "OPTIONS") exchange.respond(204, headers, "");
  else answerDetail(exchange, 405, "METHOD_NOT_ALLOWED", "Method not allowed.", headers);
}

/** The body of an error outside `/oauth2/*`. */
export function errorBody(code: ErrorReason, detail: string): string {
  return JSON.stringify({ detail, code });
}
