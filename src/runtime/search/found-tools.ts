import type { CallResult } from "../../integrations/tool.ts";
import type { JsonObject } from "../../json.ts";
import type { OfferedTool } from "../tools/tools-in-view.ts";

/** A found offer under the name to call it by. */
export interface NamedOffer {
  readonly name: string;
  readonly offer: OfferedTool;
}

/** What `find_tools` answers: everything that calling one of them takes. */
export function foundResult(found: readonly NamedOffer[], totalCount: number): CallResult {
  const structuredContent = { tools: found.map(describe), total_count: totalCount };
  const text = found.length === 0 ? NOTHING_FOUND : JSON.stringify(structuredContent);
  return { content: [{ type: "text", text }], isError: false, structuredContent };
}

const NOTHING_FOUND = "No tool fits any of these words. Try other words for what it should do, or fewer.";

function describe({ name, offer: { tool, connection } }: NamedOffer): JsonObject {
  const { description, inputSchema, readOnly } = tool.definition;
  return { name, description, inputSchema, readOnly, connection: connection.name };
}
