import type { Logger } from "pino";
import { isJsonObject, printJson, type JsonValue } from "../../json.ts";
import type { ToolDefinition } from "../tool.ts";
import type { Requester } from "./request.ts";
import type { Session } from "./session.ts";
import { mirrorHeaders, REQUEST_META } from "./stateless.ts";
import { readTool } from "./tools.ts";
import { UpstreamFailure } from "./upstream-failure.ts";

/** How much of a list is read: whatever a server offers beyond it is left out. */
const MAX_PAGES = 200;
const MAX_TOOLS = 5_000;
const MAX_BYTES = 20 * 1024 * 1024;

/** How many of the tools that were left out a log line names. */
const MAX_EXAMPLES = 5;

/** How a list is asked for. `deadlineMs` is on the clock of `performance.now()`. */
export interface ListOptions {
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  readonly maxPages?: number;
}

/**
 * All tools of a server, page by page; of two with one name the first. Tools that cannot be offered are left out and logged.
 * A server that knows no tools has none. Throws UpstreamFailure, or the signal's reason.
 */
export async function listTools(
  { requester, log }: { requester: Requester; log: Logger },
  session: Session,
  options: ListOptions,
): Promise<readonly ToolDefinition[]> {
  const { endpoint, era } = session;
  const requiresAuth = endpoint.hasSecrets;
  const tools = new Map<string, ToolDefinition>();
  const leftOut: { name: JsonValue | undefined; reason: string }[] = [];
  const seen = new Set<string>();
  let cursor: string | undefined;
  let bytes = 0;
  for (let page = 0; page < (options.maxPages ?? MAX_PAGES); page += 1) {
    const params = {
      ...(cursor === undefined ? {} : { cursor }),
      ...(era === "stateless" ? { _meta: REQUEST_META } : {}),
    };
    const reply = await requester
      .request(session, {
        method: "tools/list",
        params: printJson(params),
        ...(era === "stateless" ? { headers: mirrorHeaders("tools/list") } : {}),
        deadlineMs: options.deadlineMs,
        signal: options.signal,
      })
      .catch((error: unknown) => {
        if (error instanceof UpstreamFailure && error.kind === "rpc" && error.code === -32601) return undefined;
        throw error;
      });
    if (reply === undefined) break;
    const listed = reply.result.tools;
    if (!Array.isArray(listed)) {
      throw new UpstreamFailure(
        "not_mcp",
        `The MCP server at ${endpoint.label} answered tools/list without a list of tools.`,
      );
    }
    for (const value of listed) {
      const tool = readTool(value, requiresAuth);
      if (typeof tool === "string") leftOut.push({ name: nameOf(value), reason: tool });
      else if (tools.has(tool.name)) leftOut.push({ name: tool.name, reason: "its name is taken" });
      else if (tools.size < MAX_TOOLS) tools.set(tool.name, tool);
    }
    bytes += reply.bytes;
    const next = reply.result.nextCursor;
    if (typeof next !== "string" || next === "") break;
    if (seen.has(next) || tools.size >= MAX_TOOLS || bytes > MAX_BYTES) {
      log.warn({ host: endpoint.label, tools: tools.size, bytes }, "list of an MCP server cut short");
      break;
    }
    seen.add(next);
    cursor = next;
  }
  if (leftOut.length > 0) {
    const examples = leftOut.slice(0, MAX_EXAMPLES);
    log.warn({ host: endpoint.label, count: leftOut.length, examples }, "tools of an MCP server left out");
  }
  return [...tools.values()];
}

function nameOf(value: JsonValue): string | undefined {
  return isJsonObject(value) && typeof value.name === "string" ? value.name.slice(0, 128) : undefined;
}
