import { type IncomingHttpHeaders, type IncomingMessage, request } from "node:http";
import type { JsonObject } from "../../src/json.ts";

export interface WireAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON-RPC messages of the body: one, a batch, or those of an event stream. */
  readonly messages: readonly JsonObject[];
  /** The last message. */
  readonly last: JsonObject;
}

/** An MCP client that sends exactly the given requests. */
export interface Wire {
  /** Sends any request. Default: a POST with a token that accepts both response types. */
  send(options: WireRequest): Promise<WireAnswer>;
  call(method: string, params?: JsonObject, options?: WireRequest): Promise<WireAnswer>;
  /** Opens a session and returns the headers for its further requests. */
  open(protocolVersion?: string): Promise<Readonly<Record<string, string>>>;
  /** Opens a stream. Default: the GET stream of a session. */
  stream(options: WireRequest): Promise<WireStream>;
}

/** An HTTP request. Undefined headers are omitted. */
export interface WireRequest {
  readonly method?: string;
  readonly path?: string;
  readonly headers?: Readonly<Record<string, string | undefined>>;
  readonly body?: unknown;
  readonly signal?: AbortSignal;
}

export interface WireStream {
  readonly status: number;
  /** The text so far. */
  text(): string;
  /** The messages so far. */
  readonly messages: readonly JsonObject[];
  /** The last event id. */
  lastEventId(): string | undefined;
  /** Resolves when the server ends the stream or the connection is lost. */
  readonly ended: Promise<void>;
  close(): void;
}

/** The headers of revision 2026-07-28 that name the method of a request. */
export function modernHeaders(method: string, name?: string): Readonly<Record<string, string>> {
  return {
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": method,
    ...(name !== undefined && { "mcp-name": name }),
  };
}

/** The metadata that every request of revision 2026-07-28 contains. */
export function modernMeta(more: JsonObject = {}): JsonObject {
  return {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
    ...more,
  };
}

export function createWire(url: string, token: string | undefined, path = "/mcp"): Wire {
  const defaults = {
    accept: "application/json, text/event-stream",
    "content-type": "application/json",
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
  };
  let lastId = 0;

  function begin(options: WireRequest, onAnswer: (answer: IncomingMessage) => void) {
    const headers = Object.fromEntries(
      Object.entries({ ...defaults, ...options.headers }).filter(([, value]) => value !== undefined),
    );
    const { hostname, port } = new URL(url);
    const sent = request(
      { hostname, port, path: options.path ?? path, method: options.method ?? "POST", headers, agent: false },
      onAnswer,
    );
    options.signal?.addEventListener("abort", () => sent.destroy(), { once: true });
    const { body } = options;
    sent.end(body === undefined || typeof body === "string" ? body : JSON.stringify(body));
    return sent;
  }

  const wire: Wire = {
    send: (options) =>
      new Promise((resolve, reject) => {
        begin(options, (answer) => {
          let text = "";
          answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
          answer.on("error", reject);
          answer.on("end", () => {
            const messages = messagesIn(text);
            const last = messages.at(-1) ?? {};
            resolve({ status: answer.statusCode ?? 0, headers: answer.headers, text, messages, last });
          });
        }).on("error", reject);
      }),
    call: (method, params = {}, options = {}) =>
      wire.send({ ...options, body: { jsonrpc: "2.0", id: (lastId += 1), method, params } }),
    open: async (protocolVersion = "2025-11-25") => {
      const clientInfo = { name: "wire", version: "1" };
      const { headers } = await wire.call("initialize", { protocolVersion, capabilities: {}, clientInfo });
      return { "mcp-session-id": String(headers["mcp-session-id"]), "mcp-protocol-version": protocolVersion };
    },
    stream: (options) =>
      new Promise((resolve, reject) => {
        const sent = begin({ method: "GET", ...options }, (answer) => {
          let text = "";
          answer.on("data", (chunk: Buffer) => (text += chunk.toString()));
          const ended = new Promise<void>((over) => answer.on("close", over));
          answer.on("error", () => undefined);
          resolve({
            status: answer.statusCode ?? 0,
            text: () => text,
            get messages() {
              return messagesIn(text);
            },
            lastEventId: () => [...text.matchAll(/^id: (.*)$/gm)].at(-1)?.[1],
            ended,
            close: () => sent.destroy(),
          });
        });
        sent.on("error", reject);
      }),
  };
  return wire;
}

function messagesIn(text: string): readonly JsonObject[] {
  const events = [...text.matchAll(/^data: (\{.*\}|\[.*\])$/gm)].map(([, json]) => json ?? "");
  const parsed: unknown[] = (events.length > 0 ? events : [text]).flatMap((json) => {
    try {
      return JSON.parse(json) as unknown;
    } catch {
      return [];
    }
  });
  return parsed as JsonObject[];
}
