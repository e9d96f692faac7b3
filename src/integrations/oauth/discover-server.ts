import type { Challenge } from "./challenge.ts";
import type { OutboundAccess } from "./fetch-metadata.ts";
import { findResource } from "./resource-metadata.ts";
import { describeServer, type DescribedServer } from "./server-metadata.ts";

/** Where a resource is authorised, and for what. */
export interface Discovered extends DescribedServer {
  /** The resource indicator (RFC 8707); undefined for a resource that does not describe itself. */
  readonly resource: string | undefined;
  /** What the resource asks for, space-separated; undefined where it does not say. */
  readonly scope: string | undefined;
}

/**
 * Finds the authorization server of a resource, from the challenge of its 401 on. One that describes itself names it; one
 * that does not (MCP 2025-03-26) is its own. Throws TokenFailure with a sentence for the owner, or the signal's reason.
 */
export async function discoverServer(
  url: URL,
  challenge: Challenge | undefined,
  access: OutboundAccess,
  signal: AbortSignal,
): Promise<Discovered> {
  const resource = await findResource(url, challenge?.resourceMetadata, access, signal);
  const described = await describeServer(resource?.authorizationServers[0] ?? url.origin, access, signal);
  const supported = resource?.scopes?.join(" ");
  return {
    ...described,
    resource: resource?.resource,
    scope: challenge?.scope ?? (supported === "" ? undefined : supported),
  };
}
