/* eslint-disable @typescript-eslint/no-deprecated -- the era with sessions is measured too. */
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { NodeStreamableHTTPServerTransport, toNodeHandler } from "@modelcontextprotocol/node";
import { createMcpHandler, Server } from "@modelcontextprotocol/server";
import { echo, ECHO_TOOLS } from "./echo.ts";

// The SDK's own server at its fastest: its low-level class, JSON answers, no token, no check of arguments.
function createEcho(): Server {
  const server = new Server({ name: "sdk", version: "1" }, { capabilities: { tools: {} } });
  server.setRequestHandler("tools/list", () => ({ tools: ECHO_TOOLS }));
  server.setRequestHandler("tools/call", ({ params }) => echo(params.arguments));
  return server;
}

const sessions = new Map<string, NodeStreamableHTTPServerTransport>();
const stateless = toNodeHandler(createMcpHandler(createEcho, { legacy: "reject" }));

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
  if (request.url === "/stateless") {
    // Its type has no place for a request without a method, which no server ever hands out.
    stateless(request as Parameters<typeof stateless>[0], response).catch(failed);
    return;
  }
  const known = sessions.get(String(request.headers["mcp-session-id"]));
  if (known === undefined) openSession().then((transport) => transport.handleRequest(request, response), failed);
  else known.handleRequest(request, response).catch(failed);
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => console.log("sdk-server listening"));
