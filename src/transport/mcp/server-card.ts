import { SESSION_PROTOCOL_VERSIONS } from "../../runtime/sessions/session.ts";
import { contentTag, isKnown } from "../http/entity-tag.ts";
import type { HttpExchange } from "../http/exchange.ts";
import { endpointPath } from "./address.ts";
import { MODERN_VERSION } from "./envelope.ts";

/** SEP-2127. */
const CARD_TYPE = "application/mcp-server-card+json";
const CARD_SCHEMA = "https://static.modelcontextprotocol.io/schemas/v1/server-card.schema.json";
const CATALOG_TYPE = "application/ai-catalog+json";
const MAX_AGE_SECONDS = 3_600;

export const CATALOG_PATH = "/.well-known/ai-catalog.json";

/** The path of an endpoint's card below the endpoint. */
export const CARD_PATH = "/server-card";

/** Public documents that say how to connect, and never which connections or tools exist. */
export interface ServerCards {
  /** Returns the card of an endpoint: the same for existing and missing connections. */
  answerCard(exchange: HttpExchange, connectionId: number | undefined): void;
  answerCatalog(exchange: HttpExchange): void;
}

export function createServerCards(publicUrl: string, version: string): ServerCards {
  const { hostname } = new URL(publicUrl);

  function cardOf(connectionId: number | undefined): string {
    const suffix = connectionId === undefined ? "" : `-${connectionId}`;
    return JSON.stringify({
      $schema: CARD_SCHEMA,
      name: `${reversed(hostname)}/patchbay${suffix}`,
      title: "Patchbay",
      description: "The tools of connected services, for AI agents.",
      version,
      remotes: [
        {
          type: "streamable-http",
          url: publicUrl + endpointPath(connectionId),
          supportedProtocolVersions: [...SESSION_PROTOCOL_VERSIONS, MODERN_VERSION],
        },
      ],
    });
  }

  const catalog = JSON.stringify({
    specVersion: "1.0",
    entries: [
      {
        identifier: `urn:air:${hostname}:patchbay`,
        displayName: "Patchbay",
        type: CARD_TYPE,
        url: publicUrl + endpointPath(undefined) + CARD_PATH,
      },
    ],
  });

  return {
    answerCard: (exchange, connectionId) => answer(exchange, CARD_TYPE, cardOf(connectionId)),
    answerCatalog: (exchange) => answer(exchange, CATALOG_TYPE, catalog),
  };
}

/** Any page may read these documents, since they are the same for everybody. */
const CORS = {
  "access-control-allow-origin": "*",
  "access-control-allow-methods": "GET",
  "access-control-allow-headers": "Content-Type",
};

function answer(exchange: HttpExchange, type: string, text: string): void {
  if (exchange.method === "OPTIONS") {
    exchange.respond(204, CORS, "");
    return;
  }
  if (exchange.method !== "GET" && exchange.method !== "HEAD") {
    exchange.respond(405, { ...CORS, allow: "GET, HEAD, OPTIONS" }, "");
    return;
  }
  const etag = contentTag(text);
  const headers = {
    ...CORS,
    etag,
    "cache-control": `public, max-age=${MAX_AGE_SECONDS}`,
    "x-content-type-options": "nosniff",
  };
  if (isKnown(exchange.headers["if-none-match"], etag)) exchange.respond(304, headers, "");
  else exchange.respond(200, { ...headers, "content-type": type }, text);
}

/** The reverse-DNS form of a host name; an IPv4 address stays as it is. */
function reversed(hostname: string): string {
  if (hostname.startsWith("[")) return "localhost";
  return /^[\d.]+$/.test(hostname) ? hostname : hostname.split(".").reverse().join(".");
}
