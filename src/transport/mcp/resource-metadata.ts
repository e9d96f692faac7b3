import type { HttpExchange } from "../http/exchange.ts";

/** The scopes that MCP clients are told of: those of the management API are none of theirs. */
export const MCP_SCOPES = ["mcp.read", "mcp.write"] as const;

/** Answers with the metadata of a protected resource (RFC 9728): public, and alike for addresses that nobody has. */
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
