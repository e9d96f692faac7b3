import type { CallResult } from "../../integrations/tool.ts";
import { elementsOf, memberOf, withMembers } from "../../json-text.ts";

/** Returns a call's result as JSON: what an MCP server wrote, byte for byte. */
export function callResultText(result: CallResult, isLegacy = false): string {
  const { json, content, isError, structuredContent } = result;
  if (json !== undefined) return isLegacy && hasOtherData(result, json) ? withoutData(json, content) : json;
  return JSON.stringify({
    content,
    ...(structuredContent !== undefined && { structuredContent }),
    ...(isError && { isError }),
  });
}

/** Whether the structured content is not an object. Clients up to 2025-11-25 reject such results. */
function hasOtherData({ structuredContent }: CallResult, json: string): boolean {
  return structuredContent === undefined && json.includes('"structuredContent"');
}

function withoutData(json: string, content: CallResult["content"]): string {
  const own = memberOf(json, "content");
  const isEmpty = own === undefined || elementsOf(json, own.start).length === 0;
  return withMembers(json, { structuredContent: undefined, ...(isEmpty && { content: JSON.stringify(content) }) });
}
