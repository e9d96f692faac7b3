import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { once } from "node:events";
import type { JsonObject } from "../../../src/json.ts";

/** One request that the upstream received. */
export interface Received {
  readonly httpMethod: string;
  readonly headers: IncomingMessage["headers"];
  /** The parsed body; empty without one. */
  readonly message: JsonObject;
  /** The body as received. */
  readonly text: string;
}

/** Answers one request. */
export type Script = (request: Received, response: ServerResponse) => void;

/** A scripted MCP server on a separate port. */
export interface ScriptedUpstream {
  readonly url: string;
  readonly received: readonly Received[];
  /** The messages received for a JSON-RPC method, or for an HTTP method. */
  of(method: string): readonly Received[];
  /** Waits until a method has been received this many times. */
  until(method: string, count?: number): Promise<void>;
  close(): void;
}

/** Starts a server. Requests that `script` does not answer get the answers of a correct server with sessions. */
export async function startScriptedUpstream(script: Partial<Record<string, Script>>): Promise<ScriptedUpstream> {
  const received: Received[] = [];
  const waiting: (() => void)[] = [];
  const server = createServer((request, response) => {
    response.on("error", () => undefined);
    let text = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (text += chunk));
    request.on("end", () => {
      const message = (text === "" ? {} : JSON.parse(text)) as JsonObject;
      const item = { httpMethod: request.method ?? "", headers: request.headers, message, text };
      received.push(item);
      for (const wake of waiting) wake();
      const method = typeof message.method === "string" ? message.method : item.httpMethod;
      (script[method] ?? wellBehaved)(item, response);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as { port: number };
  const of = (method: string) =>
    received.filter((item) => item.message.method === method || item.httpMethod === method);
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    received,
    of,
    until: (method, count = 1) =>
      new Promise((resolve) => {
        const look = (): void => {
          if (of(method).length >= count) resolve();
        };
        waiting.push(look);
        look();
      }),
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Answers like a correct server with sessions. */
export const wellBehaved: Script = ({ message, httpMethod }, response) => {
  if (httpMethod === "DELETE") response.writeHead(200).end();
  else if (message.method === "initialize") {
    response.setHeader("mcp-session-id", "session-1");
    json(response, { jsonrpc: "2.0", id: message.id ?? null, result: INITIALIZED });
  } else if (message.id === undefined || message.method === undefined) response.writeHead(202).end();
  else if (message.method === "tools/list") json(response, { jsonrpc: "2.0", id: message.id, result: { tools: [] } });
  else json(response, { jsonrpc: "2.0", id: message.id, result: { content: [{ type: "text", text: "done" }] } });
};

/** The result of `initialize`. */
export const INITIALIZED: JsonObject = {
  protocolVersion: "2025-11-25",
  capabilities: { tools: {} },
  serverInfo: { name: "scripted", version: "1" },
};

/** Answers with a JSON body. */
export function json(response: ServerResponse, body: unknown, status = 200): void {
  response
    .writeHead(status, { "content-type": "application/json" })
    .end(typeof body === "string" ? body : JSON.stringify(body));
}

/** A script that answers a request with a result. */
export function result(value: JsonObject): Script {
  return ({ message }, response) => json(response, { jsonrpc: "2.0", id: message.id ?? null, result: value });
}

/** A script that answers with an HTTP status. */
export function status(code: number, body = "", headers: Record<string, string> = {}): Script {
  return (_request, response) => void response.writeHead(code, headers).end(body);
}

/** Starts an event stream. */
export function stream(response: ServerResponse): { send: (message: unknown, id?: string) => void } {
  response.writeHead(200, { "content-type": "text/event-stream" });
  return {
    send: (message, id) => {
      response.write(`${id === undefined ? "" : `id: ${id}\n`}event: message\ndata: ${JSON.stringify(message)}\n\n`);
    },
  };
}
