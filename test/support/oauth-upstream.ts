import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { isJsonObject, type JsonObject, parseJson } from "../../src/json.ts";
import { startVendor, type Vendor, type VendorOptions } from "./vendor.ts";

/**
 * A remote MCP server built with the SDK that accepts only a vendor's tokens. Both run on loopback, on separate
 * origins.
 */
export interface OAuthUpstream {
  /** The address of the MCP server. */
  readonly url: string;
  /** `host:port` of the MCP server and of its vendor, for OUTBOUND_ALLOW. */
  readonly hosts: readonly string[];
  readonly vendor: Vendor;
  /**
   * JSON served at the MCP server's well-known paths. Default: RFC 9728 metadata. A function handles the request
   * itself.
   */
  readonly documents: Map<string, JsonObject | ((response: ServerResponse) => void)>;
  /** The `WWW-Authenticate` header of its 401; undefined for none. */
  challenge: string | undefined;
  /** Scopes by tool: a call without them returns 403 `insufficient_scope`. */
  readonly needs: Map<string, readonly string[]>;
  /** The accepted requests: JSON-RPC method, tool and token. */
  readonly served: { readonly method: string; readonly tool: string | undefined; readonly token: string }[];
  /** The Authorization headers of rejected requests; undefined for a missing one. */
  readonly refused: (string | undefined)[];
  close(): Promise<void>;
}

const TOOLS = [
  {
    name: "whoami",
    description: "Says who is logged in.",
    inputSchema: { type: "object" as const, properties: {} },
    annotations: { readOnlyHint: true },
  },
  {
    name: "echo",
    description: "Gives its arguments back.",
    inputSchema: { type: "object" as const, properties: { text: { type: "string" } } },
  },
  {
    name: "administer",
    description: "Needs the scope tools.admin.",
    inputSchema: { type: "object" as const, properties: {} },
  },
];

/** Starts an MCP server with its authorization server. */
export async function startOAuthUpstream(options: VendorOptions = {}): Promise<OAuthUpstream> {
  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const host = `127.0.0.1:${(http.address() as AddressInfo).port}`;
  const url = `http://${host}/mcp`;
  const vendor = await startVendor({ resources: () => [url], ...options });
  const metadataUrl = `http://${host}/.well-known/oauth-protected-resource/mcp`;

  const upstream: OAuthUpstream = {
    url,
    hosts: [host, vendor.host],
    vendor,
    documents: new Map([
      [
        new URL(metadataUrl).pathname,
        { resource: url, authorization_servers: [vendor.issuer], bearer_methods_supported: ["header"] },
      ],
    ]),
    challenge: `Bearer resource_metadata="${metadataUrl}"`,
    needs: new Map([["administer", ["tools.admin"]]]),
    served: [],
    refused: [],
    close: async () => {
      await handler.close();
      http.closeAllConnections();
      http.close();
      await Promise.all([once(http, "close"), vendor.close()]);
    },
  };

  /** Supports every protocol revision: 2026-07-28, and earlier ones without sessions. */
  const handler = createMcpHandler(() => {
    // eslint-disable-next-line @typescript-eslint/no-deprecated -- the low-level server takes JSON Schema as it is
    const server = new Server({ name: "vendor's tools", version: "1" }, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: TOOLS }));
    server.setRequestHandler("tools/call", async ({ params }, { http: over }) => {
      const token = over?.req?.headers.get("authorization")?.slice("Bearer ".length) ?? "";
      const found = await vendor.inspect(token, url);
      const words = params.name === "whoami" ? (found?.subject ?? "nobody") : JSON.stringify(params.arguments ?? {});
      return { content: [{ type: "text", text: words }] };
    });
    return server;
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const document = upstream.documents.get(request.url ?? "");
    if (typeof document === "function") {
      document(response);
      return;
    }
    if (document !== undefined) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(document));
      return;
    }
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    if (request.url !== "/mcp") {
      response.writeHead(404).end();
      return;
    }
    const { authorization } = request.headers;
    const token = /^Bearer (.+)$/.exec(authorization ?? "")?.[1] ?? "";
    const found = await vendor.inspect(token, url);
    if (found === undefined) {
      refuse(response, authorization, 401);
      return;
    }
    const body = Buffer.concat(chunks);
    const { method, tool } = askedOf(body.toString());
    const needed = upstream.needs.get(tool ?? "") ?? [];
    if (!needed.every((word) => found.scope.split(" ").includes(word))) {
      refuse(response, authorization, 403, [...new Set([...found.scope.split(" "), ...needed])]);
      return;
    }
    upstream.served.push({ method, tool, token });
    const answered = await handler.fetch(
      new Request(url, {
        method: request.method ?? "GET",
        headers: Object.entries(request.headers).map(([name, value]): [string, string] => [name, String(value)]),
        ...(body.length > 0 && { body }),
      }),
    );
    response.writeHead(answered.status, Object.fromEntries(answered.headers));
    response.flushHeaders();
    for await (const chunk of answered.body ?? []) response.write(chunk);
    response.end();
  }

  function refuse(
    response: ServerResponse,
    authorization: string | undefined,
    status: 401 | 403,
    scope: readonly string[] = [],
  ): void {
    upstream.refused.push(authorization);
    const { challenge } = upstream;
    if (status === 403) {
      const words = scope.filter((word) => word !== "").join(" ");
      const metadata = challenge === undefined ? "" : `, ${challenge.slice("Bearer ".length)}`;
      response.setHeader("www-authenticate", `Bearer error="insufficient_scope", scope="${words}"${metadata}`);
    } else if (challenge !== undefined) response.setHeader("www-authenticate", challenge);
    // A careless upstream: it repeats the request.
    response.writeHead(status, { "content-type": "text/plain" }).end(`refused: ${authorization ?? "no credentials"}`);
  }

  return upstream;
}

function askedOf(text: string): { readonly method: string; readonly tool: string | undefined } {
  const message = text === "" ? {} : parseJson(text, { maxDepth: 64 });
  if (!isJsonObject(message)) return { method: "", tool: undefined };
  const { method, params } = message;
  const tool = method === "tools/call" && isJsonObject(params) ? String(params["name"]) : undefined;
  return { method: String(method), tool };
}
