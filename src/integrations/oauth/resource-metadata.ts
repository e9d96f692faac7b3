import type { JsonObject } from "../../json.ts";
import { fetchMetadata, type OutboundAccess, stringsOf } from "./fetch-metadata.ts";
import { TokenFailure } from "./token-failure.ts";

/** Protected resource metadata (RFC 9728). */
export interface ResourceMetadata {
  /** Kept verbatim, because the authorization server compares it as a string (RFC 8707). */
  readonly resource: string;
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/**
 * Looks up resource metadata: at the challenge's URL, then at the well-known URL with the path, then at the origin's.
 * Throws TokenFailure for metadata of another resource, whose tokens would be valid there.
 */
export async function findResource(
  url: URL,
  pointed: string | undefined,
  access: OutboundAccess,
  signal: AbortSignal,
): Promise<ResourceMetadata | undefined> {
  for (const address of addressesFor(url, pointed)) {
    const fetched = await fetchMetadata(address, access, signal);
    if ("document" in fetched) return readResource(fetched.document, url, address);
  }
  return undefined;
}

function addressesFor(url: URL, pointed: string | undefined): readonly URL[] {
  const path = url.pathname === "/" ? "" : url.pathname;
  const own = [`${WELL_KNOWN}${path}${url.search}`, `${WELL_KNOWN}${path.replace(/\/$/, "")}`, WELL_KNOWN];
  const named = pointed === undefined ? null : URL.parse(pointed);
  const addresses = [...(named === null ? [] : [named.href]), ...own.map((each) => new URL(each, url.origin).href)];
  return [...new Set(addresses)].map((address) => new URL(address));
}

function readResource(document: JsonObject, url: URL, address: URL): ResourceMetadata {
  const { resource, authorization_servers: servers, scopes_supported: scopes } = document;
  const at = `${address.host}${address.pathname}`;
  if (typeof resource !== "string")
    throw new TokenFailure("other", `${at} does not say which resource it describes (RFC 9728: resource is missing).`);
  if (!covers(resource, url))
    throw new TokenFailure(
      "other",
      `${at} describes another resource than ${url.origin}${url.pathname}, so nobody was asked to authorize it. Check the url of the connection.`,
    );
  return { resource, authorizationServers: stringsOf(servers) ?? [], scopes: stringsOf(scopes) };
}

/** Whether a URL is within a resource: same origin, same path or below. */
function covers(resource: string, url: URL): boolean {
  const parsed = URL.parse(resource);
  if (parsed?.origin !== url.origin || parsed.hash !== "") return false;
  if (parsed.search !== "" && parsed.search !== url.search) return false;
  return withSlash(url.pathname).startsWith(withSlash(parsed.pathname));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
