import { isJsonObject, type JsonObject } from "../../json.ts";

/** Where an MCP server is reached and with what: a connection's configuration, made ready once for many requests. */
export interface Endpoint {
  readonly origin: string;
  /** Path and query. */
  readonly path: string;
  /** Host and port, for sentences: unlike the path it never carries a key. */
  readonly label: string;
  /** Names and values in turn, as undici takes them; content negotiation and credentials included. */
  readonly headers: readonly string[];
  /** Values that must not appear in a sentence of ours. */
  readonly secrets: readonly string[];
  readonly hasToken: boolean;
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
    secrets: [...(hasToken ? [token] : []), ...extra.map(([, value]) => value)].filter((secret) => secret.length >= 4),
    hasToken,
    fingerprint: fingerprint(configuration),
  };
}

/** Text of the upstream's for a sentence of ours: configured secrets struck out, one line, at most 300 characters. */
export function quote(text: string, endpoint: Endpoint): string {
  const bounded = text.slice(0, 20_000);
  const scrubbed = endpoint.secrets.reduce((rest, secret) => rest.replaceAll(secret, "[secret]"), bounded);
  const line = scrubbed
    .toWellFormed()
    .replace(/[\s\p{Cc}]+/gu, " ")
    .trim();
  return line.length > 300 ? `${line.slice(0, 299)}…` : line;
}
