import type { Arena } from "./arena.ts";
import type { RequestTemplate } from "./load/job.ts";

const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};

/** The same two requests at `/mcp` in both eras: in a session, and by themselves. */
export interface McpRequests {
  readonly list: RequestTemplate;
  readonly call: RequestTemplate;
}

/** With `Mcp-Session-Id`, as clients of 2025 speak. */
export function sessionRequests(arena: Arena): McpRequests {
  const headers = { "mcp-session-id": arena.sessionId, "mcp-protocol-version": "2025-03-26" };
  return {
    list: post(arena, headers, "tools/list", {}),
    call: post(arena, headers, "tools/call", callOf(arena)),
  };
}

/** Without a session, as clients of 2026-07-28 speak. */
export function statelessRequests(arena: Arena): McpRequests {
  const mirrored = (method: string): Record<string, string> => ({
    "mcp-protocol-version": REVISION,
    "mcp-method": method,
  });
  const call = { ...mirrored("tools/call"), "mcp-name": arena.toolName };
  return {
    list: post(arena, mirrored("tools/list"), "tools/list", { _meta: META }),
    call: post(arena, call, "tools/call", { ...callOf(arena), _meta: META }),
  };
}

function callOf({ toolName }: Arena): object {
  return { name: toolName, arguments: { message: "hello" } };
}

function post({ reader }: Arena, own: Record<string, string>, method: string, params: object): RequestTemplate {
  const headers = {
    authorization: `Bearer ${reader.token}`,
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...own,
  };
  return { method: "POST", path: "/mcp", headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) };
}
