import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";

/** The responses of an upstream: the JSON text of the result or error of each method. */
export interface Script {
  readonly results: Readonly<Record<string, string | ((params: Readonly<Record<string, unknown>>) => string)>>;
  readonly errors: Readonly<Record<string, string>>;
}

/** An MCP server that sends exactly the given texts. */
export interface VerbatimUpstream {
  /** `host:port`. */
  readonly host: string;
  readonly url: string;
  /** Received messages by method, in order. */
  readonly received: {
    readonly method: string;
    readonly params: Readonly<Record<string, unknown>>;
    readonly headers: IncomingMessage["headers"];
  }[];
  close(): Promise<void>;
}

/** A server of 2026-07-28 answers `initialize` with an error, one of earlier revisions opens a session. */
export async function startVerbatimUpstream(
  revision: "legacy" | "modern",
  { results, errors }: Script,
): Promise<VerbatimUpstream> {
  const received: VerbatimUpstream["received"] = [];

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    let body = "";
    for await (const chunk of request.setEncoding("utf8")) body += String(chunk);
    const message = (body === "" ? {} : JSON.parse(body)) as { id?: unknown; method?: string; params?: object };
    const { id, method = "", params = {} } = message;
    if (request.method !== "POST") return void response.writeHead(405, { allow: "POST" }).end();
    if (id === undefined) return void response.writeHead(202).end();
    received.push({ method, params: params as Readonly<Record<string, unknown>>, headers: request.headers });
    const name = `${method} ${String((params as { name?: unknown; uri?: unknown }).name ?? "")}`.trim();
    const foreign = revision === "modern" ? "initialize" : "server/discover";
    const unknown = '{"code":-32601,"message":"Method not found"}';
    const said = results[name] ?? results[method];
    const error = method === foreign ? unknown : (errors[name] ?? (said === undefined ? unknown : undefined));
    const text = typeof said === "function" ? said(params as Readonly<Record<string, unknown>>) : said;
    response.setHeader("content-type", "application/json");
    if (method === "initialize") response.setHeader("mcp-session-id", "session-1");
    response.end(
      error === undefined
        ? `{"jsonrpc":"2.0", "result": ${text ?? "{}"} ,"id":${JSON.stringify(id)}}`
        : `{"jsonrpc":"2.0","id":${JSON.stringify(id)}, "error":${error}}`,
    );
  }

  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  const host = `127.0.0.1:${address.port}`;
  return {
    host,
    url: `http://${host}/mcp`,
    received,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
