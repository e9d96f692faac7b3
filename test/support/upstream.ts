import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/json.ts";

/** A remote MCP server (Streamable HTTP, 2025-06-18, no sessions) that a test controls. */
export interface Upstream {
  /** `host:port`, for OUTBOUND_ALLOW. */
  readonly host: string;
  readonly url: string;
  /** The tools it lists. Can be changed at any time. */
  tools: JsonObject[];
  /** The required bearer token; undefined for none. */
  key: string | undefined;
  /** Handles a tool call. Default: echoes the arguments. */
  onCall: (name: string, args: JsonObject) => JsonValue;
  /** Whether it sends a tool list notification before it answers a call. */
  tellsOfTools: boolean;
  /** Every response waits for this. */
  gate: Promise<void>;
  /** The received JSON-RPC methods, in order. */
  readonly asked: string[];
  /** The received Authorization headers. */
  readonly authorizations: string[];
  close(): Promise<void>;
}

/** A tool with two typed arguments. */
export function describeTool(name: string, more: JsonObject = {}): JsonObject {
  return {
    name,
    description: `The tool ${name}.`,
    inputSchema: { type: "object", properties: { text: { type: "string" }, count: { type: "integer" } } },
    ...more,
  };
}

/** The default tools of an upstream: one reads, two write. */
export const DEFAULT_TOOLS: readonly JsonObject[] = [
  describeTool("look_up", { annotations: { readOnlyHint: true } }),
  describeTool("change"),
  describeTool("remove", { annotations: { readOnlyHint: false } }),
];

export async function startUpstream(): Promise<Upstream> {
  const server = createServer((request, response) => void answer(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  const host = `127.0.0.1:${address.port}`;

  const upstream: Upstream = {
    host,
    url: `http://${host}/mcp`,
    tools: [...DEFAULT_TOOLS],
    key: undefined,
    onCall: (name, args) => ({ content: [{ type: "text", text: JSON.stringify({ name, args }) }] }),
    tellsOfTools: false,
    gate: Promise.resolve(),
    asked: [],
    authorizations: [],
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    const { authorization = "", "content-type": contentType } = request.headers;
    if (contentType === "application/x-www-form-urlencoded") {
      // It has no token endpoint, which a client of 2025-03-26 asks for.
      response.writeHead(404).end();
      return;
    }
    const text = Buffer.concat(chunks).toString();
    const message = text === "" ? {} : parseJson(text, { maxDepth: 64 });
    const { id, method, params } = isJsonObject(message) ? message : {};
    upstream.asked.push(String(method));
    upstream.authorizations.push(authorization);
    await upstream.gate;
    if (upstream.key !== undefined && authorization !== `Bearer ${upstream.key}`) {
      // A careless upstream: it repeats the request.
      response.writeHead(401, { "content-type": "text/plain" }).end(`wrong credentials: ${authorization} ${text}`);
    } else if (request.method !== "POST") {
      response.writeHead(405, { allow: "POST" }).end();
    } else if (id === undefined) {
      response.writeHead(202).end();
    } else {
      const result = resultOf(String(method), isJsonObject(params) ? params : {});
      const answered = JSON.stringify({ jsonrpc: "2.0", id, ...result });
      if (upstream.tellsOfTools && method === "tools/call") {
        const news = JSON.stringify({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
        response.writeHead(200, { "content-type": "text/event-stream" });
        response.end(`data: ${news}\n\ndata: ${answered}\n\n`);
        return;
      }
      response.writeHead(200, { "content-type": "application/json" });
      response.end(answered);
    }
  }

  function resultOf(method: string, params: JsonObject): JsonObject {
    switch (method) {
      case "initialize": {
        const capabilities = { tools: { listChanged: false } };
        return {
          result: { protocolVersion: "2025-06-18", capabilities, serverInfo: { name: "stand-in", version: "1" } },
        };
      }
      case "tools/list":
        return { result: { tools: upstream.tools } };
      case "tools/call":
        return {
          result: upstream.onCall(String(params["name"]), isJsonObject(params["arguments"]) ? params["arguments"] : {}),
        };
      case "ping":
        return { result: {} };
      default:
        return { error: { code: -32601, message: "Method not found" } };
    }
  }

  return upstream;
}
