import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, fromJsonSchema, McpServer } from "@modelcontextprotocol/server";
import { echo, ECHO_TOOLS, type EchoArguments } from "./echo.ts";

const TOOLS = ECHO_TOOLS.map(({ name, inputSchema, ...rest }) => ({
  name,
  config: { ...rest, inputSchema: fromJsonSchema<EchoArguments>(inputSchema) },
}));

// The SDK's own server, built as in its documentation: `McpServer`, which validates arguments like the service; no
// token.
function createEcho(): McpServer {
  const server = new McpServer({ name: "sdk", version: "1" });
  for (const { name, config } of TOOLS) server.registerTool(name, config, echo);
  return server;
}

/** One server per session in its fastest configuration: JSON responses. */
const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
/** Its HTTP entry: one server per request, for both protocol revisions. */
const perRequest = toNodeHandler(createMcpHandler(createEcho));

async function openSession(): Promise<NodeStreamableHTTPServerTransport> {
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    enableJsonResponse: true,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  });
  await createEcho().connect(transport);
  return transport;
}

const server = createServer((request, response) => {
  const failed = (error: unknown): void => void response.writeHead(500).end(String(error));
  if (request.url === "/per-request") {
    // Its type excludes a request without a method, which no server produces.
    perRequest(request as Parameters<typeof perRequest>[0], response).catch(failed);
    return;
  }
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known === undefined) openSession().then((transport) => transport.handleRequest(request, response), failed);
  else known.handleRequest(request, response).catch(failed);
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => console.log("sdk-server listening"));
