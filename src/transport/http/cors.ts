import { cors } from "@connectrpc/connect";
import type { HttpExchange, HeaderFields } from "./exchange.ts";

const METHODS = [...new Set([...cors.allowedMethods, "GET", "HEAD", "POST", "PUT", "DELETE"])].join(", ");
const MCP_HEADERS = ["Mcp-Session-Id", "MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Last-Event-ID"];
const REQUEST_HEADERS = [
  ...cors.allowedHeaders,
  "Authorization",
  "X-Session-ID",
  "Content-Encoding",
  "Idempotency-Key",
  "If-Match",
  "If-None-Match",
  ...MCP_HEADERS,
].join(", ");
const RESPONSE_HEADERS = [
  ...cors.exposedHeaders,
  ...[
    "Location",
    "Retry-After",
    "RateLimit",
    "RateLimit-Policy",
    "WWW-Authenticate",
    "Mcp-Session-Id",
    "Idempotency-Replayed",
    "ETag",
  ],
].join(", ");

/** How long a browser may cache the response to a preflight, in seconds. */
const MAX_AGE_SECONDS = "7200";

/** Allows pages of the listed origins to call the API. Tokens travel in a header, so credentials stay off. */
export interface Cors {
  /** Sets the headers of the response. Returns true if the request was a preflight and has been answered. */
  apply(exchange: HttpExchange): boolean;
}

/** Creates the rule for the given origins. Returns undefined without origins; responses then have no CORS headers. */
export function createCors(origins: readonly string[]): Cors | undefined {
  if (origins.length === 0) return undefined;
  const allowed = new Set(origins);
  return {
    apply: (exchange) => {
      const { origin } = exchange.headers;
      const isPreflight =
        exchange.method === "OPTIONS" && exchange.headers["access-control-request-method"] !== undefined;
      if (origin === undefined || !allowed.has(origin)) {
        exchange.alwaysSend = { ...exchange.alwaysSend, vary: "Origin" };
        return false;
      }
      const granted: HeaderFields = { "access-control-allow-origin": origin, vary: "Origin" };
      if (!isPreflight) {
        exchange.alwaysSend = { ...exchange.alwaysSend, ...granted, "access-control-expose-headers": RESPONSE_HEADERS };
        return false;
      }
      exchange.respond(
        204,
        {
          ...granted,
          "access-control-allow-methods": METHODS,
          "access-control-allow-headers": REQUEST_HEADERS + parameterHeaders(exchange),
          "access-control-max-age": MAX_AGE_SECONDS,
        },
        "",
      );
      return true;
    },
  };
}

/** The requested headers that mirror arguments of an MCP tool. Their names depend on the tool. */
function parameterHeaders({ headers }: HttpExchange): string {
  const asked = headers["access-control-request-headers"] ?? "";
  const mirrored = asked
    .split(",")
    .filter((name) => /^\s*mcp-param-[!#$%&'*+\-.^_`|~0-9A-Za-z]{1,128}\s*$/i.test(name));
  return mirrored.map((name) => `, ${name.trim()}`).join("");
}
