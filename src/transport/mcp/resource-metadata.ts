import type { HttpExchange } from "../http/exchange.ts";

/** The scopes for MCP clients; those of the management API are not included. */
export const MCP_SCOPES = ["mcp.read", "mcp.write"] as const;

/** Returns the metadata of a protected resource (RFC 9728). It is public and the same for existing and missing connections. */
export function answerResourceMetadata(exchange: HttpExchange, publicUrl: string, resourcePath: string): void {
  if (exchange.method !== "GET" && exchange.method !== "HEAD") {
    exchange.respond(405, { allow: "GET, HEAD" }, "");
    return;
  }
  const metadata = {
    resource: publicUrl + resourcePath,
    authorization_servers: [publicUrl],
    scopes_supported: MCP_SCOPES,
    bearer_methods_supported: ["header"],
    resource_name: "Patchbay",
  };
  exchange.respond(
    200,
    {
      "content-type": "application/json",
      "cache-control": "public, max-age=3600",
      "x-content-type-options": "nosniff",
    },
    JSON.stringify(metadata),
  );
}
