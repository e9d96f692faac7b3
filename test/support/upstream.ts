import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../src/json.ts";

/** A remote MCP server (Streamable HTTP, 2025-06-18, no sessions) whose behaviour a test decides. */
export interface Upstream {
  /** `host:port`, as OUTBOUND_ALLOW wants it. */
  readonly host: string;
  readonly url: string;
  /** All tools it lists; may be changed at any time. */
  tools: JsonObject[];
  /** The bearer token it wants; undefined means that it wants none. */
  key: string | undefined;
  /** Answers a call of a tool; echoes its arguments unless told. */
  onCall: (name: string, args: JsonObject) => JsonValue;
  /** Whether it says, before it answers a call, that its tools are others. */
  tellsOfTools: boolean;
  /** Every request waits for this before it is answered. */
  gate: Promise<void>;
  /** What it was asked: the JSON-RPC methods in their order. */
  readonly asked: string[];
  /** The Authorization headers it was sent. */
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

/** The tools an upstream has unless told: one reads, two write. */
export const DEFAULT_TOOLS: readonly JsonObject[] = [
  describeTool("look_up", { annotations: { readOnlyHint: true } }),
  describeTool("change"),
  describeTool("remove", { annotations: { readOnlyHint: false } }),
];

/** Starts an upstream. */
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
    const { authorization = "" } = request.headers;
    const text = Buffer.concat(chunks).toString();
    const message = text === "" ? {} : parseJson(text, { maxDepth: 64 });
    const { id, method, params } = isJsonObject(message) ? message : {};
    upstream.asked.push(String(method));
    upstream.authorizations.push(authorization);
    await upstream.gate;
    if (upstream.key !== undefined && authorization !== `Bearer ${upstream.key}`) {
      // What a careless third party does: it repeats what it was sent.
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
