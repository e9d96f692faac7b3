import type { Challenge } from "./challenge.ts";
import { findDefaultEndpoints } from "./default-endpoints.ts";
import type { OutboundAccess } from "./fetch-metadata.ts";
import { findResource } from "./resource-metadata.ts";
import { describeServer, type DescribedServer } from "./server-metadata.ts";

export interface Discovered extends DescribedServer {
  /** The resource indicator (RFC 8707); undefined for a resource without metadata. */
  readonly resource: string | undefined;
  /** The scopes that the resource asks for, space-separated. */
  readonly scope: string | undefined;
}

/**
 * Finds the authorization server of a resource from its challenge. A resource without metadata is its own
 * authorization server (MCP 2025-03-26). Throws TokenFailure with a message for the owner, or the signal's reason.
 */
export async function discoverServer(
  url: URL,
  challenge: Challenge | undefined,
  access: OutboundAccess,
  signal: AbortSignal,
): Promise<Discovered> {
  const resource = await findResource(url, challenge?.resourceMetadata, access, signal);
  const issuer = resource?.authorizationServers[0] ?? url.origin;
  // Only servers of 2025-03-26, which know no resource metadata, may lack metadata of their authorization server.
  const isOldServer = resource === undefined && challenge?.resourceMetadata === undefined;
  const described = await describeServer(issuer, access, signal, isOldServer ? findDefaultEndpoints : undefined);
  const supported = resource?.scopes?.join(" ");
  return {
    ...described,
    resource: resource?.resource,
    scope: challenge?.scope ?? (supported === "" ? undefined : supported),
  };
}
