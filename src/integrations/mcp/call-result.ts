import { isJsonObject, printJson } from "../../json.ts";
import type { UpstreamTask } from "../tasks.ts";
import type { CallResult } from "../tool.ts";
import type { McpReply } from "./sessions/request.ts";

/** Reads the result of `tools/call`. MCP clients get its text; the other fields are for REST, RPC and the history. */
export function readCallResult({ result, text, bytes }: McpReply): CallResult {
  const { content, structuredContent, isError } = result;
  const blocks = Array.isArray(content) ? content.filter((block) => isJsonObject(block)) : [];
  const isObject = isJsonObject(structuredContent);
  // Only 2026-07-28 allows structured content that is not an object; clients of other revisions get it as text.
  const isTextMissing = blocks.length === 0 && structuredContent !== undefined && !isObject;
  return {
    content: isTextMissing ? [{ type: "text", text: printJson(structuredContent) }] : blocks,
    isError: isError === true,
    bytes,
    json: text(),
    ...(isObject && { structuredContent }),
  };
}

/** Maximum length of a task id, in characters; requests for the task repeat the id in a header. */
export const MAX_TASK_ID = 1_024;

/** Reads the task that a server of 2026-07-28 returned instead of a result, or undefined. */
export function readTask({ result, text }: McpReply): UpstreamTask | undefined {
  const { resultType, taskId, ttlMs } = result;
  if (resultType !== "task" || typeof taskId !== "string" || taskId.length > MAX_TASK_ID) return undefined;
  return { id: taskId, json: text(), ttlMs: typeof ttlMs === "number" && ttlMs >= 0 ? ttlMs : undefined };
}
