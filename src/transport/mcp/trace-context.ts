import type { Relay, TraceContext } from "../../integrations/relay.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { singleHeader } from "./single-header.ts";

/** The entries of `_meta` (SEP-414). */
const META_KEYS = ["traceparent", "tracestate", "baggage"];
/** Baggage of HTTP is left out: proxies add it, and it may contain data that is not meant for vendors. */
const HEADERS = ["traceparent", "tracestate"];
/** Maximum length in UTF-16 units; W3C Baggage requires implementations to support 8,192. */
const MAX_LENGTH = 8_192;

/** Adds the trace context of a request, if it has one. */
export function withTrace(relay: Relay, exchange: HttpExchange | undefined, { _meta: meta }: JsonObject): Relay {
  const trace = readTrace(exchange, isJsonObject(meta) ? meta : {});
  return trace === undefined ? relay : { ...relay, trace };
}

function readTrace(exchange: HttpExchange | undefined, meta: JsonObject): TraceContext | undefined {
  let found: JsonObject | undefined;
  for (const key of META_KEYS) {
    const value = meta[key];
    if (typeof value === "string" && value.length <= MAX_LENGTH) found = { ...found, [key]: value };
  }
  let headers: readonly string[] | undefined;
  for (const name of HEADERS) {
    const value = exchange && singleHeader(exchange, name);
    if (value !== undefined && value.length <= MAX_LENGTH) headers = [...(headers ?? []), name, value];
  }
  return found === undefined && headers === undefined ? undefined : { meta: found, headers: headers ?? [] };
}
