const ENDPOINT = "/mcp";

/** Where the metadata of protected resources is, each below its own path (RFC 9728 §3.1). */
export const METADATA_PATH = "/.well-known/oauth-protected-resource";

/** The address of the metadata of an endpoint. */
export function metadataUrl(publicUrl: string, connectionId: number | undefined): string {
  return `${publicUrl}${METADATA_PATH}${endpointPath(connectionId)}`;
}

/** The path of an endpoint. */
export function endpointPath(connectionId: number | undefined): string {
  return connectionId === undefined ? ENDPOINT : `${ENDPOINT}/${connectionId}`;
}
