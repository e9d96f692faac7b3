const ENDPOINT = "/mcp";

/** The metadata of an endpoint is at this path plus the path of the endpoint (RFC 9728 §3.1). */
export const MCP_METADATA_PATH = "/.well-known/oauth-protected-resource";

export function metadataUrl(publicUrl: string, connectionId: number | undefined): string {
  return `${publicUrl}${MCP_METADATA_PATH}${endpointPath(connectionId)}`;
}

export function endpointPath(connectionId: number | undefined): string {
  return connectionId === undefined ? ENDPOINT : `${ENDPOINT}/${connectionId}`;
}
