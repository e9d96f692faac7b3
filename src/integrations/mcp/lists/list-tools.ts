import type { Logger } from "pino";
import { isJsonObject, type JsonValue } from "../../../json.ts";
import { LIST_TTL_MS, type ToolDefinition } from "../../tool.ts";
import type { Endpoint } from "../http/endpoint.ts";
import { listPages, type ListOptions } from "./list-pages.ts";
import type { Requester } from "../sessions/request.ts";
import type { UpstreamSession } from "../sessions/session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";
import { readTool } from "./read-tool.ts";

/** Maximum number of tools: as many as a connection can have accepted definitions. */
const MAX_TOOLS = 10_000;
const MAX_BYTES = 20 * 1024 * 1024;

/** Maximum number of skipped tools that the log line names. */
const MAX_EXAMPLES = 5;

export interface UpstreamToolList {
  readonly tools: readonly ToolDefinition[];
  /** Whether the server has more tools than a limit allows. */
  readonly isTruncated: boolean;
}

/**
 * Lists all tools of a server; the first of two with the same name wins. Unusable tools are skipped and logged.
 * Throws UpstreamFailure, or the signal's reason.
 */
export async function listUpstreamTools(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  options: ListOptions,
): Promise<UpstreamToolList> {
  const { endpoint } = session;
  const tools = new Map<string, ToolDefinition>();
  const leftOut: { name: JsonValue | undefined; reason: string }[] = [];
  let hasMore = false;
  const add = (value: JsonValue, text: string): boolean => {
    const tool = readTool(value, text, endpoint.hasSecrets);
    if (typeof tool === "string") leftOut.push({ name: nameOf(value), reason: tool });
    else if (tools.has(tool.name)) leftOut.push({ name: tool.name, reason: "its name is a duplicate" });
    else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool);
    else hasMore = true;
    return !hasMore;
  };
  const list = { method: "tools/list", key: "tools", maxBytes: MAX_BYTES, add };
  const { isTruncated, ttlMs } = await listPages(deps, session, list, options);
  if (leftOut.length > 0) {
    const examples = leftOut.slice(0, MAX_EXAMPLES);
    deps.log.warn({ host: endpoint.label, count: leftOut.length, examples }, "tools of an MCP server skipped");
  }
  // Only a time to live below the service's own changes how long clients may cache the list.
  const limited = ttlMs !== undefined && ttlMs < LIST_TTL_MS ? { ttlMs } : {};
  return { tools: [...tools.values()].map((tool) => ({ ...tool, ...limited })), isTruncated };
}

/**
 * Lists the first page, which verifies the key. Returns a sentence for the owner if the whole list exceeds a limit.
 * Throws UpstreamFailure, or the signal's reason.
 */
export async function tryTools(
  deps: { requester: Requester; log: Logger },
  session: UpstreamSession,
  options: ListOptions,
): Promise<string | undefined> {
  const first = await listUpstreamTools(deps, session, { ...options, maxPages: 1 });
  if (!first.isTruncated) return undefined;
  try {
    const { isTruncated } = await listUpstreamTools(deps, session, options);
    return isTruncated ? truncatedReason(session.endpoint) : undefined;
  } catch (error) {
    // The key works, whatever happens to further pages.
    if (error instanceof UpstreamFailure) return undefined;
    throw error;
  }
}

function truncatedReason({ label }: Endpoint): string {
  const limit = MAX_TOOLS.toLocaleString("en-US");
  return `The MCP server at ${label} lists more tools than a connection can have (${limit}, or 20 MiB). The others cannot be used.`;
}

function nameOf(value: JsonValue): string | undefined {
  return isJsonObject(value) && typeof value.name === "string" ? value.name.slice(0, 128) : undefined;
}
