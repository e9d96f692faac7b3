import { isJsonObject, printJson, type JsonObject } from "../../json.ts";
import { errorResult, type CallResult } from "../tool.ts";

/** The result of `tools/call` as it came, in an answer of so many bytes: every kind of content, known or not, stays what it is. */
export function readCallResult(result: JsonObject, bytes: number): CallResult {
  if (result.resultType === "input_required") {
    return errorResult("The tool asks for further input from a person, which is not supported here.");
  }
  const { content, structuredContent, isError, _meta: meta } = result;
  const blocks = Array.isArray(content) ? content.filter((block) => isJsonObject(block)) : [];
  return {
    // At least one block is promised; a tool with nothing but data gets it as text, as MCP advises servers to do.
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
