/* eslint-disable @typescript-eslint/no-deprecated -- the low-level server takes JSON Schema as it is. */
import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import { Server } from "@modelcontextprotocol/sdk/server/index.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { CallToolRequestSchema, ElicitResultSchema, ListToolsRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import { listen, type Listening } from "./listen.ts";
import { aborted, COLOR_FORM, COUNT_PAUSE_MS, COUNTED, describeChoice, MATRIX_TOOLS } from "./matrix-tools.ts";

/** Starts a server with sessions (2025-11-25 and earlier), built with the SDK v1. */
export function startSdkV1Upstream(): Promise<Listening> {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  return listen(async (request: IncomingMessage, response: ServerResponse) => {
    const id = request.headers["mcp-session-id"];
    const known = sessions.get(String(id));
    if (known !== undefined) return known.handleRequest(request, response);
    if (id !== undefined || request.method !== "POST") return void response.writeHead(404).end();
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: () => randomUUID(),
      onsessioninitialized: (sessionId) => void sessions.set(sessionId, transport),
      onsessionclosed: (sessionId) => void sessions.delete(sessionId),
    });
    await createTools().connect(transport as Transport);
    await transport.handleRequest(request, response);
  });
}

function createTools(): Server {
  const server = new Server({ name: "matrix-v1", version: "1.0.0" }, { capabilities: { tools: {} } });
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools: MATRIX_TOOLS }));
  server.setRequestHandler(
    CallToolRequestSchema,
    async ({ params }, { signal, _meta, sendNotification, sendRequest }) => {
      const text = (words: string) => ({ content: [{ type: "text" as const, text: words }] });
      switch (params.name) {
        case "count": {
          const progressToken = _meta?.progressToken;
          for (const step of progressToken === undefined ? [] : COUNTED) {
            await sendNotification({
              method: "notifications/progress",
              params: { ...step, progressToken: progressToken ?? "" },
            });
            await sleep(COUNT_PAUSE_MS);
          }
          return text("Counted to 3.");
        }
        case "wait":
          await aborted(signal);
          return text("Canceled.");
        case "ask":
          return text(
            describeChoice(await sendRequest({ method: "elicitation/create", params: COLOR_FORM }, ElicitResultSchema)),
          );
        default:
          return text(`Echo: ${String(params.arguments?.["text"])}`);
      }
    },
  );
  return server;
}
