/* eslint-disable @typescript-eslint/no-deprecated -- servers that speak only this transport still exist. */
import { once } from "node:events";
import { createServer } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import {
  CallToolRequestSchema,
  type CallToolResult,
  ListToolsRequestSchema,
  RootsListChangedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { describeTool } from "./upstream.ts";

/** An MCP server of SDK v1 that speaks only HTTP+SSE. */
export interface SseServer {
  /** `host:port`. */
  readonly host: string;
  readonly url: string;
  /** The calls of `wait` that the client canceled. */
  canceled(): number;
  /** The calls of `wait` that are running. */
  running(): number;
  /** The open streams. */
  streams(): number;
  /** Ends all streams, as a restart would. */
  drop(): void;
  close(): Promise<void>;
}

const TOOLS = ["look_up", "count", "wait", "ask_person", "ask_model", "ask_roots", "add_tool", "say"];

const text = (words: string): CallToolResult => ({ content: [{ type: "text", text: words }] });

export async function startSseServer(): Promise<SseServer> {
  const open = new Map<string, { transport: SSEServerTransport; end: () => void }>();
  let added = 0;
  let canceled = 0;
  let running = 0;

  function createSession(): Server {
    const server = new Server(
      { name: "sse", version: "1" },
      { capabilities: { tools: { listChanged: true }, logging: {} } },
    );
    server.setNotificationHandler(RootsListChangedNotificationSchema, () => undefined);
    server.setRequestHandler(ListToolsRequestSchema, () => ({
      tools: [...TOOLS, ...Array.from({ length: added }, (_, index) => `added_${index + 1}`)].map((name) => ({
        ...describeTool(name),
        inputSchema: { type: "object" as const },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { sendNotification, signal, _meta }) => {
      switch (params.name) {
        case "look_up":
          return text("found");
        case "say":
          await server.sendLoggingMessage({ level: "info", data: "said" });
          return text("said");
        case "count": {
          const progressToken = _meta?.progressToken;
          for (const progress of [1, 2, 3]) {
            if (progressToken !== undefined)
              await sendNotification({
                method: "notifications/progress",
                params: { progressToken, progress, total: 3 },
              });
            // SDK v1 clients drop progress that arrives together with the result.
            await sleep(20);
          }
          return text("counted");
        }
        case "wait":
          running += 1;
          await sleep(60_000, undefined, { signal }).catch(() => (canceled += 1));
          running -= 1;
          return text("waited");
        case "ask_person": {
          const { action, content } = await server.elicitInput({
            message: "Your name?",
            requestedSchema: { type: "object", properties: { name: { type: "string" } } },
          });
          return text(`${action} ${String(content?.["name"])}`);
        }
        case "ask_model": {
          const { content } = await server.createMessage({
            messages: [{ role: "user", content: { type: "text", text: "Hello" } }],
            maxTokens: 10,
          });
          return text(JSON.stringify(content));
        }
        case "ask_roots":
          return text(JSON.stringify((await server.listRoots()).roots));
        case "add_tool":
          added += 1;
          await server.sendToolListChanged();
          return text("added");
        default:
          return text(params.name);
      }
    });
    return server;
  }

  const http = createServer((request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    if (request.method === "GET" && pathname === "/sse") {
      const transport = new SSEServerTransport("/message", response);
      open.set(transport.sessionId, { transport, end: () => response.destroy() });
      response.on("close", () => open.delete(transport.sessionId));
      void createSession().connect(transport);
      return;
    }
    const session = open.get(searchParams.get("sessionId") ?? "");
    if (request.method === "POST" && pathname === "/message") {
      if (session === undefined) response.writeHead(404).end("Could not find session");
      else void session.transport.handlePostMessage(request, response);
      return;
    }
    response.writeHead(405, { allow: "GET" }).end("Method Not Allowed");
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  const address = http.address();
  const host = typeof address === "object" && address !== null ? `127.0.0.1:${address.port}` : "";
  return {
    host,
    url: `http://${host}/sse`,
    canceled: () => canceled,
    running: () => running,
    streams: () => open.size,
    drop: () => {
      for (const { end } of [...open.values()]) end();
    },
    close: async () => {
      http.close();
      http.closeAllConnections();
    },
  };
}
