import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { Target } from "../../target.ts";
import type { GrantedTokens } from "../../oauth/granted-tokens.ts";
import { createScrubber, type Scrubber } from "../../scrub.ts";
import { type Bearer, createBearer } from "./bearer.ts";

/** Secret configuration properties: sealed at rest, never returned. */
export const MCP_SECRET_PROPERTIES = ["api_token", "headers", "oauth_client_secret"] as const;

/** Where an MCP server is reached and with what: a connection's configuration, made ready once for many requests. */
export interface Endpoint {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Host and port, for sentences: unlike the path it never carries a key. */
  readonly label: string;
  /** Names and values in turn, as undici takes them; content negotiation and credentials included. */
  readonly headers: readonly string[];
  /** Takes the configured secrets out of what the server says. */
  readonly scrubber: Scrubber;
  readonly hasToken: boolean;
  /** What is sent where the owner authorised the connection, in place of a key. */
  readonly bearer: Bearer | undefined;
  /** Whether it is given a key or headers, and so presumably asks for them. */
  readonly hasSecrets: boolean;
  /** Tells whether a later configuration is still this one. */
  readonly fingerprint: string;
}

/** Names the configuration an endpoint was built from. Holds its secrets, so it never leaves memory. */
export function fingerprint(configuration: JsonObject): string {
  return JSON.stringify(configuration);
}

/** Builds the endpoint of a connection. `tokens` are those of owners' logins. Throws TypeError when `url` is none. */
export function endpointFor(target: Target, tokens: GrantedTokens | undefined): Endpoint {
  const { configuration } = target;
  if (target.authMethod !== "oauth2" || tokens === undefined) return endpointOf(configuration);
  const { origin, label } = endpointOf(configuration);
  return endpointOf(configuration, createBearer(tokens, target, origin, `The MCP server at ${label}`));
}

/** Builds the endpoint of a checked configuration; a bearer takes the place of its key. Throws TypeError when `url` is none. */
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

/** Tokens come and go, so it is made anew whenever there is something to strike out, which is when something failed. */
function changingScrubber(configuration: JsonObject, bearer: Bearer): Scrubber {
  const now = (): Scrubber => createScrubber(configuration, MCP_SECRET_PROPERTIES, bearer.sent());
  return { text: (value) => now().text(value), isInBytes: (bytes) => now().isInBytes(bytes) };
}

/** Text of the upstream's for a sentence of ours: configured secrets struck out, one line, at most 300 characters. */
export function quote(text: string, endpoint: Endpoint): string {
  const line = endpoint.scrubber
    .text(text)
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
