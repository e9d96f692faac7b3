import type { RequestTemplate } from "./load/job.ts";

const REVISION = "2026-07-28";
const META = {
  "io.modelcontextprotocol/protocolVersion": REVISION,
  "io.modelcontextprotocol/clientInfo": { name: "bench", version: "1" },
  "io.modelcontextprotocol/clientCapabilities": {},
};
const CALL = { name: "echo", arguments: { message: "hello" } };

export interface McpRequests {
  readonly list: RequestTemplate;
  readonly call: RequestTemplate;
}

export interface McpRecipient {
  readonly path: string;
  /** Undefined for servers without authentication. */
  readonly token: string | undefined;
}

/** With `Mcp-Session-Id`, as clients of 2025 send. */
export function sessionRequests(recipient: McpRecipient, sessionId: string): McpRequests {
  const headers = { "mcp-session-id": sessionId, "mcp-protocol-version": "2025-03-26" };
  return {
    list: post(recipient, headers, "tools/list", {}),
    call: post(recipient, headers, "tools/call", CALL),
  };
}

/** Without a session, as clients of 2026-07-28 send. */
export function statelessRequests(recipient: McpRecipient): McpRequests {
  const mirrored = (method: string): Record<string, string> => ({
    "mcp-protocol-version": REVISION,
    "mcp-method": method,
  });
  return {
    list: post(recipient, mirrored("tools/list"), "tools/list", { _meta: META }),
    call: post(recipient, { ...mirrored("tools/call"), "mcp-name": CALL.name }, "tools/call", { ...CALL, _meta: META }),
  };
}

function post(
  { path, token }: McpRecipient,
  own: Record<string, string>,
  method: string,
  params: object,
): RequestTemplate {
  const headers = {
    ...(token !== undefined && { authorization: `Bearer ${token}` }),
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    ...own,
  };
  return { method: "POST", path, headers, body: JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }) };
}
