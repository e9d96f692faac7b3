import type { JsonObject } from "../../json.ts";
import type { ToolPage } from "../../runtime/tools/list-tools.ts";
import type { ListedTool } from "../../runtime/tools/session-tools.ts";
import type { RpcResult } from "./result.ts";

/** Prints pages of tools. */
export interface ToolPrinter {
  /** The result of `tools/list`; the same object for the same page. */
  print(page: ToolPage, isLegacy: boolean): RpcResult;
}

/** A printer that prints each page once for each handler: a page is the same object until its list changes. */
export function createToolPrinter(): ToolPrinter {
  const legacy = new WeakMap<ToolPage, RpcResult>();
  const modern = new WeakMap<ToolPage, RpcResult>();
  return {
    print(page, isLegacy) {
      const printed = isLegacy ? legacy : modern;
      const known = printed.get(page);
      if (known !== undefined) return known;
      const cursor = page.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(page.nextCursor)}`;
      const tools = page.tools.map((tool) => JSON.stringify(toWireTool(tool, isLegacy)));
      const result = { members: `"tools":[${tools.join(",")}]${cursor}`, meta: undefined, isCacheable: true };
      printed.set(page, result);
      return result;
    },
  };
}

/** A tool as MCP lists it. What an MCP server says of its own tool goes on as it came. */
function toWireTool({ name, definition }: ListedTool, isLegacy: boolean): JsonObject {
  const { description, inputSchema, outputSchema, readOnly, hints = {}, listed } = definition;
  const { destructive, idempotent, openWorld } = hints;
  return {
    annotations: {
      readOnlyHint: readOnly,
      ...(destructive !== undefined && { destructiveHint: destructive }),
      ...(idempotent !== undefined && { idempotentHint: idempotent }),
      ...(openWorld !== undefined && { openWorldHint: openWorld }),
    },
    ...listed,
    name,
    description,
    inputSchema,
    // Up to 2025-11-25 the result as data must be an object; clients refuse tools that say otherwise.
    ...(outputSchema !== undefined && (!isLegacy || outputSchema.type === "object") && { outputSchema }),
  };
}
