import { createServer, type IncomingMessage } from "node:http";
import { echo, ECHO_TOOLS } from "./echo.ts";

// A minimal remote MCP server (Streamable HTTP, no sessions): node:http and JSON.
const introduction = {
  protocolVersion: "2025-06-18",
  capabilities: { tools: {} },
  serverInfo: { name: "bench", version: "1" },
};

interface Message {
  id?: number | string;
  method: string;
  params?: { name?: string; arguments?: { message?: string } };
}

function resultOf({ method, params }: Message): object {
  if (method === "initialize") return introduction;
  if (method === "tools/list") return { tools: ECHO_TOOLS };
  return echo(params?.arguments);
}

function answer(request: IncomingMessage, text: string): { status: number; body: string } {
  if (request.method !== "POST") return { status: 405, body: "" };
  const message = JSON.parse(text) as Message;
  if (message.id === undefined) return { status: 202, body: "" };
  return { status: 200, body: JSON.stringify({ jsonrpc: "2.0", id: message.id, result: resultOf(message) }) };
}

const server = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const { status, body } = answer(request, Buffer.concat(chunks).toString());
    response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(body) });
    response.end(body);
  });
});
server.listen(Number(process.env["PORT"]), "127.0.0.1", () => console.log("upstream listening"));
