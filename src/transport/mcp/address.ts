import { parseServerId } from "../../identity/server-id.ts";

/** What a path means to MCP. */
export type McpAddress =
  | { readonly kind: "endpoint"; readonly connectionId: number | undefined }
  | { readonly kind: "metadata"; readonly resourcePath: string };

const ENDPOINT = "/mcp";
const METADATA = "/.well-known/oauth-protected-resource";

const ALL: McpAddress = { kind: "endpoint", connectionId: undefined };

/** Reads a path: `/mcp`, `/mcp/{server_id}`, or the metadata of one of them in either well-known form (RFC 9728 §3.1). */
export function readMcpAddress(path: string): McpAddress | undefined {
  if (path === ENDPOINT) return ALL;
  if (path.startsWith(METADATA)) {
    const resourcePath = path.slice(METADATA.length);
    if (resourcePath === "") return { kind: "metadata", resourcePath };
    const resource = readMcpAddress(resourcePath);
    return resource?.kind === "endpoint" ? { kind: "metadata", resourcePath } : undefined;
  }
  if (!path.startsWith("/mcp/")) return undefined;
  const connectionId = parseServerId(path.slice("/mcp/".length));
  return connectionId === undefined ? undefined : { kind: "endpoint", connectionId };
}

/** Where the metadata of an endpoint is. */
export function metadataUrl(publicUrl: string, connectionId: number | undefined): string {
  return `${publicUrl}${METADATA}${endpointPath(connectionId)}`;
}

/** The path of an endpoint. */
export function endpointPath(connectionId: number | undefined): string {
  return connectionId === undefined ? ENDPOINT : `${ENDPOINT}/${connectionId}`;
}
