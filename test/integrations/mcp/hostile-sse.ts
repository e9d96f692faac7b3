import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { JsonObject } from "../../../src/json.ts";

/** What a scripted HTTP+SSE server does. */
export interface SseScript {
  /** Called when the stream is opened; default: announces `/message`. */
  readonly onStream?: (stream: ServerResponse, port: number) => void;
  /** Answers a posted message on the stream. Default: answers `initialize` and `tools/list`. */
  readonly onMessage?: (message: JsonObject, stream: ServerResponse) => boolean;
  /** The answer to a posted message. Default: 202. */
  readonly status?: number;
  /** The required bearer token. Only the stream and the messages need it. */
  readonly token?: string;
}

/** A scripted HTTP+SSE server. */
export interface ScriptedSse {
  readonly url: string;
  /** The paths of the POST requests with messages. */
  readonly posted: readonly string[];
  close(): void;
}

export function announce(stream: ServerResponse, address: string): void {
  stream.write(`event: endpoint\ndata: ${address}\n\n`);
}

export function sendOn(stream: ServerResponse, message: unknown): void {
  stream.write(`event: message\ndata: ${JSON.stringify(message)}\n\n`);
}

/** Starts a server that refuses Streamable HTTP. */
export async function startScriptedSse(script: SseScript): Promise<ScriptedSse> {
  const posted: string[] = [];
  let stream: ServerResponse | undefined;
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    const isAllowed = script.token === undefined || request.headers.authorization === `Bearer ${script.token}`;
    if (!isAllowed && (request.method === "GET" || request.url !== "/sse")) {
      response.writeHead(401, { "www-authenticate": 'Bearer error="invalid_token", scope="tools"' }).end();
      return;
    }
    if (request.method === "GET" && request.url === "/sse") {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.flushHeaders();
      stream = response;
      const { port } = server.address() as { port: number };
      if (script.onStream === undefined) announce(response, "/message?sessionId=1");
      else script.onStream(response, port);
      return;
    }
    if (request.method !== "POST" || request.url === "/sse") {
      response.writeHead(404).end("Not Found");
      return;
    }
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      posted.push(request.url ?? "");
      const message = JSON.parse(text) as JsonObject;
      response.writeHead(script.status ?? 202).end();
      if (script.status !== undefined) return;
      if (stream === undefined || script.onMessage?.(message, stream) === true || message.id === undefined) return;
      const result =
        message.method === "initialize"
          ? { protocolVersion: "2024-11-05", capabilities: { tools: {} }, serverInfo: { name: "old", version: "1" } }
          : { tools: [], content: [{ type: "text", text: "done" }] };
      sendOn(stream, { jsonrpc: "2.0", id: message.id, result });
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  return {
    url: `http://127.0.0.1:${port}/sse`,
    posted,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
