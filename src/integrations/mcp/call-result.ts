import { isJsonObject, printJson, type JsonObject } from "../../json.ts";
import { errorResult, type CallResult } from "../tool.ts";

/** Reads the result of `tools/call` and keeps every content block, known or not. `bytes` is the size of the answer. */
export function readCallResult(result: JsonObject, bytes: number): CallResult {
  if (result.resultType === "input_required") {
    return errorResult("The tool asks for further input from a person, which is not supported here.");
  }
  const { content, structuredContent, isError, _meta: meta } = result;
  const blocks = Array.isArray(content) ? content.filter((block) => isJsonObject(block)) : [];
  return {
    // MCP recommends data as text for clients that ignore structured content; a result needs at least one block.
    content:
      blocks.length > 0
        ? blocks
        : [{ type: "text", text: structuredContent === undefined ? "" : printJson(structuredContent) }],
    isError: isError === true,
    bytes,
    ...(isJsonObject(structuredContent) ? { structuredContent } : {}),
    ...(isJsonObject(meta) ? { meta } : {}),
  };
}
