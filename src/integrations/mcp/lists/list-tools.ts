import type { Logger } from "pino";
import { isJsonObject, type JsonValue } from "../../../json.ts";
import type { ToolDefinition } from "../../tool.ts";
import { listPages, type ListOptions } from "./list-pages.ts";
import type { Requester } from "../sessions/request.ts";
import type { UpstreamSession } from "../sessions/session.ts";
import { readTool } from "./read-tool.ts";

/** Further tools are ignored. */
const MAX_TOOLS = 5_000;
const MAX_BYTES = 20 * 1024 * 1024;

/** Skipped tools named in the log line. */
const MAX_EXAMPLES = 5;

/**
 * Lists all tools of a server; the first of two with the same name wins. Unusable tools are skipped and logged.
 * Throws UpstreamFailure, or the signal's reason.
 */
export async function listUpstreamTools(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  options: ListOptions,
): Promise<readonly ToolDefinition[]> {
  const { endpoint } = session;
  const tools = new Map<string, ToolDefinition>();
  const leftOut: { name: JsonValue | undefined; reason: string }[] = [];
  const add = (value: JsonValue): boolean => {
    const tool = readTool(value, endpoint.hasSecrets);
    if (typeof tool === "string") leftOut.push({ name: nameOf(value), reason: tool });
    else if (tools.has(tool.name)) leftOut.push({ name: tool.name, reason: "its name is a duplicate" });
    else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool);
    return tools.size < MAX_TOOLS;
  };
  await listPages(deps, session, { method: "tools/list", key: "tools", maxBytes: MAX_BYTES, add }, options);
  if (leftOut.length > 0) {
    const examples = leftOut.slice(0, MAX_EXAMPLES);
    deps.log.warn({ host: endpoint.label, count: leftOut.length, examples }, "tools of an MCP server skipped");
  }
  return [...tools.values()];
}

function nameOf(value: JsonValue): string | undefined {
  return isJsonObject(value) && typeof value.name === "string" ? value.name.slice(0, 128) : undefined;
}
