import { isJsonObject, type JsonObject } from "../../json.ts";
import { createScrubber, type Scrubber } from "../scrub.ts";
import { SECRET_PROPERTIES } from "./configuration.ts";

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
  /** Whether it is given a key or headers, and so presumably asks for them. */
  readonly hasSecrets: boolean;
  /** Tells whether a later configuration is still this one. */
  readonly fingerprint: string;
}

/** Names the configuration an endpoint was built from. Holds its secrets, so it never leaves memory. */
export function fingerprint(configuration: JsonObject): string {
  return JSON.stringify(configuration);
}

/** Builds the endpoint of a checked configuration. Throws TypeError when `url` is none. */
export function endpointOf(configuration: JsonObject): Endpoint {
  const { url: address, api_token: token, headers } = configuration;
  const url = new URL(typeof address === "string" ? address : "");
  const own = isJsonObject(headers) ? Object.entries(headers) : [];
  const extra = own.filter((entry): entry is [string, string] => typeof entry[1] === "string");
  const hasToken = typeof token === "string" && token !== "";
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
    scrubber: createScrubber(configuration, SECRET_PROPERTIES, []),
    hasSecrets: hasToken || extra.length > 0,
    hasToken,
    fingerprint: fingerprint(configuration),
  };
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
