import type { JsonObject } from "../../json.ts";
import { fetchMetadata, type OutboundAccess, stringsOf } from "./fetch-metadata.ts";
import { TokenFailure } from "./token-failure.ts";

/** What a protected resource says of itself (RFC 9728), as far as it is needed. */
export interface ResourceMetadata {
  /** To the letter as it says: its authorization server compares it so (RFC 8707). */
  readonly resource: string;
  /** Empty where it names none. */
  readonly authorizationServers: readonly string[];
  readonly scopes: readonly string[] | undefined;
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource";

/**
 * Finds what the resource at an address says of itself: where its challenge points to, then at the well-known address with
 * the path, then at that of the origin. Undefined where it says nothing. Throws TokenFailure for what it says of
 * another resource: its tokens would be good there.
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
      `${at} describes another resource than ${url.origin}${url.pathname}, so nobody was asked to authorise it. Check the url of the connection.`,
    );
  return { resource, authorizationServers: stringsOf(servers) ?? [], scopes: stringsOf(scopes) };
}

/** Whether an address lies within a resource: the same origin, and its path the same or further down. */
function covers(resource: string, url: URL): boolean {
  const parsed = URL.parse(resource);
  if (parsed?.origin !== url.origin || parsed.hash !== "") return false;
  if (parsed.search !== "" && parsed.search !== url.search) return false;
  return withSlash(url.pathname).startsWith(withSlash(parsed.pathname));
}

function withSlash(path: string): string {
  return path.endsWith("/") ? path : `${path}/`;
}
