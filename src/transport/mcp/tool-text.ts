import type { JsonObject } from "../../json.ts";
import type { SessionToolPage } from "../../runtime/tools/list-tools.ts";
import type { ListedTool } from "../../runtime/tools/session-tools.ts";
import { LIST_TTL_MS, type RpcResult } from "./result.ts";

export interface ToolPrinter {
  /** Returns the result of `tools/list`, the same object for the same page. */
  print(page: SessionToolPage, isLegacy: boolean): RpcResult;
}

/** Prints each page once per protocol handler: a page is the same object until its list changes. */
export function createToolPrinter(): ToolPrinter {
  const legacy = new WeakMap<SessionToolPage, RpcResult>();
  const modern = new WeakMap<SessionToolPage, RpcResult>();
  return {
    print(page, isLegacy) {
      const printed = isLegacy ? legacy : modern;
      const known = printed.get(page);
      if (known !== undefined) return known;
      const cursor = page.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(page.nextCursor)}`;
      const tools = page.tools.map((tool) => JSON.stringify(toWireTool(tool, isLegacy)));
      const result = { text: `{"tools":[${tools.join(",")}]${cursor}}`, ttlMs: LIST_TTL_MS };
      printed.set(page, result);
      return result;
    },
  };
}

/** Converts a tool to its MCP form. Fields from an MCP upstream are passed on unchanged. */
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
    // Up to 2025-11-25 structured results must be objects; clients reject tools with other schemas.
    ...(outputSchema !== undefined && (!isLegacy || outputSchema.type === "object") && { outputSchema }),
  };
}
