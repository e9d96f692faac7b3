import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { JsonObject } from "../../src/json.ts";

/** A remote MCP server whose tool `work` takes as long as its arguments say. */
export interface PatientUpstream {
  /** `host:port`, for OUTBOUND_ALLOW. */
  readonly host: string;
  readonly url: string;
  /** The calls that are waiting for their result. */
  running(): number;
  close(): Promise<void>;
}

interface Work {
  /** How long the call takes. */
  readonly ms?: number;
  /** The time between two progress notifications; none without it. */
  readonly everyMs?: number;
}

const WORK = {
  name: "work",
  description: "Takes some time.",
  inputSchema: { type: "object", properties: { ms: { type: "integer" }, everyMs: { type: "integer" } } },
};

/** Speaks 2025-06-18 without sessions, or only 2026-07-28. */
export async function startPatientUpstream(revision: "legacy" | "modern"): Promise<PatientUpstream> {
  let running = 0;
  const server = createServer((request, response) => void answer(request, response));
  // Node would end an idle connection.
  server.timeout = 0;
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (typeof address !== "object" || address === null) throw new Error("the upstream has no port");
  const host = `127.0.0.1:${address.port}`;

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(Buffer.from(chunk as Uint8Array));
    const {
      id,
      method,
      params = {},
    } = JSON.parse(Buffer.concat(chunks).toString() || "{}") as {
      id?: number;
      method?: string;
      params?: { arguments?: Work; _meta?: JsonObject };
    };
    const send = (body: JsonObject): void => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...body }));
    };
    const done = (result: JsonObject): JsonObject =>
      revision === "modern" ? { resultType: "complete", ...result } : result;
    if (request.method !== "POST") response.writeHead(405).end();
    else if (id === undefined) response.writeHead(202).end();
    else if (method === "tools/call") work(response, id, params, done);
    else if (method === "tools/list") send({ result: done({ tools: [WORK] }) });
    else if (method === "initialize" && revision === "legacy") {
      const serverInfo = { name: "patient", version: "1" };
      send({ result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo } });
    } else if (method === "server/discover" && revision === "modern") {
      send({ result: done({ supportedVersions: ["2026-07-28"], capabilities: { tools: {} } }) });
    } else send({ error: { code: -32601, message: "Method not found" } });
  }

  function work(
    response: ServerResponse,
    id: number,
    { arguments: { ms = 0, everyMs } = {}, _meta: meta }: { arguments?: Work; _meta?: JsonObject },
    done: (result: JsonObject) => JsonObject,
  ): void {
    const event = (message: JsonObject): void =>
      void response.write(`data: ${JSON.stringify({ jsonrpc: "2.0", ...message })}\n\n`);
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.flushHeaders();
    running += 1;
    let progress = 0;
    const progressToken = meta?.["progressToken"];
    const reports =
      everyMs === undefined || progressToken === undefined
        ? undefined
        : setInterval(() => {
            progress += 1;
            event({ method: "notifications/progress", params: { progressToken, progress } });
          }, everyMs);
    const end = setTimeout(() => {
      event({ id, result: done({ content: [{ type: "text", text: `worked for ${ms} ms` }] }) });
      response.end();
    }, ms);
    response.on("close", () => {
      running -= 1;
      clearInterval(reports);
      clearTimeout(end);
    });
  }

  return {
    host,
    url: `http://${host}/mcp`,
    running: () => running,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, "close");
    },
  };
}
