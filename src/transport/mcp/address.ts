/** The path of Streamable HTTP. */
export const ENDPOINT = "/mcp";

/** The path of HTTP+SSE, the transport of 2024-11-05. */
export const SSE_ENDPOINT = "/sse";

/** The metadata of an endpoint is at this path plus the path of the endpoint (RFC 9728 §3.1). */
export const MCP_METADATA_PATH = "/.well-known/oauth-protected-resource";

export function metadataUrl(publicUrl: string, path: string): string {
  return publicUrl + MCP_METADATA_PATH + path;
}

export function endpointPath(connectionId: number | undefined, endpoint = ENDPOINT): string {
  return connectionId === undefined ? endpoint : `${endpoint}/${connectionId}`;
}
