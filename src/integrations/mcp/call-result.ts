import { isJsonObject, printJson } from "../../json.ts";
import type { CallResult } from "../tool.ts";
import type { McpReply } from "./sessions/request.ts";

/** Reads the result of `tools/call`. MCP clients get its text; the other fields are for REST, RPC and the history. */
export function readCallResult({ result, text, bytes }: McpReply): CallResult {
  const { content, structuredContent, isError } = result;
  const blocks = Array.isArray(content) ? content.filter((block) => isJsonObject(block)) : [];
  const isObject = isJsonObject(structuredContent);
  // Only 2026-07-28 carries data that is no object; others read it as text.
  const isTextMissing = blocks.length === 0 && structuredContent !== undefined && !isObject;
  return {
    content: isTextMissing ? [{ type: "text", text: printJson(structuredContent) }] : blocks,
    isError: isError === true,
    bytes,
    json: text(),
    ...(isObject && { structuredContent }),
  };
}
