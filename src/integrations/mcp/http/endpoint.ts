import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { Target } from "../../target.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { createScrubber, type Scrubber } from "../../scrub.ts";
import { type Bearer, createBearer } from "./bearer.ts";

/** Secret configuration properties: sealed at rest, never returned. */
export const MCP_SECRET_PROPERTIES = ["api_token", "headers", "oauth_client_secret"] as const;

/** The address, headers and secrets of a connection, prepared once for many requests. */
export interface Endpoint {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Host and port, for messages; unlike the path it contains no secret. */
  readonly label: string;
  /** Alternating names and values for undici, with content negotiation and credentials. */
  readonly headers: readonly string[];
  /** Redacts configured secrets. */
  readonly scrubber: Scrubber;
  readonly hasToken: boolean;
  /** Set when the owner authorized the connection instead of supplying a key. */
  readonly bearer: Bearer | undefined;
  /** Whether a key, token or extra headers are sent. */
  readonly hasSecrets: boolean;
  /** Identifies the configuration that the endpoint was built from. */
  readonly fingerprint: string;
}

/** Contains the configuration's secrets, so it must stay in memory. */
export function fingerprint(configuration: JsonObject): string {
  return JSON.stringify(configuration);
}

/** Throws TypeError when `url` is not a URL. */
export function endpointFor(target: Target, tokens: GrantedTokens | undefined): Endpoint {
  const { configuration } = target;
  if (target.authMethod !== "oauth2" || tokens === undefined) return endpointOf(configuration);
  const { origin, label } = endpointOf(configuration);
  return endpointOf(configuration, createBearer(tokens, target, origin, `The MCP server at ${label}`));
}

/**
 * Builds the endpoint of a checked configuration; a bearer replaces its key. Throws TypeError when `url` is not a
 * URL.
 */
export function endpointOf(configuration: JsonObject, bearer?: Bearer): Endpoint {
  const { url: address, api_token: token, headers } = configuration;
  const url = new URL(typeof address === "string" ? address : "");
  const own = isJsonObject(headers) ? Object.entries(headers) : [];
  const extra = own.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const hasToken = bearer === undefined && typeof token === "string" && token !== "";
  return {
    origin: url.origin,
    path: url.pathname + url.search,
    label: url.host,
    headers: [
      ...["content-type", "application/json"],
      ...["accept", "application/json, text/event-stream"],
      ...["accept-encoding", "identity"],
      ...(extra.some(([name]) => name.toLowerCase() === "user-agent") ? [] : ["user-agent", "patchbay"]),
      ...(hasToken ? ["authorization", `Bearer ${token}`] : []),
      ...extra.flat(),
    ],
    scrubber:
      bearer === undefined
        ? createScrubber(configuration, MCP_SECRET_PROPERTIES, [])
        : changingScrubber(configuration, bearer),
    hasSecrets: hasToken || bearer !== undefined || extra.length > 0,
    hasToken,
    bearer,
    fingerprint: fingerprint(configuration),
  };
}

/** Tokens change, so the scrubber is created on each use; it is used only for failures. */
function changingScrubber(configuration: JsonObject, bearer: Bearer): Scrubber {
  const now = (): Scrubber => createScrubber(configuration, MCP_SECRET_PROPERTIES, bearer.sent());
  return { text: (value) => now().text(value), isInBytes: (bytes) => now().isInBytes(bytes) };
}

/** Prepares upstream text for a message: secrets redacted, one line, at most 300 characters. */
export function quote(text: string, endpoint: Endpoint): string {
  const line = endpoint.scrubber
    .text(text)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
