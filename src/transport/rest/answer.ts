import { httpStatusOf, type Fault } from "../fault.ts";
import type { Exchange, HeaderFields } from "../http/exchange.ts";

/** What every JSON answer carries: it is for this caller alone and is nothing but JSON. */
export const JSON_HEADERS: HeaderFields = {
  "content-type": "application/json",
  "cache-control": "no-store",
  "x-content-type-options": "nosniff",
};

/** What a browser that was led to an answer may do with it: nothing. */
const INERT: HeaderFields = { "content-security-policy": "default-src 'none'; frame-ancestors 'none'" };

/** The one writer of REST errors: `{detail}` and nothing else (SPEC «Errors»). */
export function answerFault(exchange: Exchange, fault: Fault): void {
  answerDetail(exchange, httpStatusOf(fault), fault.message, fault.headers);
}

/** Answers `{detail}` where there is no RPC to blame: unknown paths and methods. */
export function answerDetail(exchange: Exchange, status: number, detail: string, headers: HeaderFields = {}): void {
  exchange.respond(status, { ...JSON_HEADERS, ...INERT, ...headers }, JSON.stringify({ detail }));
}
