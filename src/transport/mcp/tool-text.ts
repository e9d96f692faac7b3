import { LIST_TTL_MS } from "../../integrations/tool.ts";
import type { JsonObject } from "../../json.ts";
import { withMembers } from "../../json-text.ts";
import type { SessionToolPage } from "../../runtime/tools/list-tools.ts";
import { describeListed, type ListedTool } from "../../runtime/tools/session-tools.ts";
import { LINKS, renameLinks } from "../../runtime/upstream/link-edits.ts";
import { qualifyUri } from "../../runtime/upstream/upstream-uri.ts";
import type { RpcResult } from "./result.ts";

export interface ToolPrinter {
  /** Returns the result of `tools/list`, the same object for the same page. */
  print(page: SessionToolPage, options: PrintOptions): RpcResult;
}

export interface PrintOptions {
  /** Whether the client speaks a revision up to 2025-11-25. */
  readonly isLegacy: boolean;
  /** Whether the page is of one connection, whose URIs need no qualifier. */
  readonly isBound: boolean;
}

/** Prints each page once per protocol handler: a page is the same object until its list changes. */
export function createToolPrinter(): ToolPrinter {
  const legacy = new WeakMap<SessionToolPage, RpcResult>();
  const modern = new WeakMap<SessionToolPage, RpcResult>();
  return {
    print(page, options) {
      const printed = options.isLegacy ? legacy : modern;
      const known = printed.get(page);
      if (known !== undefined) return known;
      const cursor = page.nextCursor === undefined ? "" : `,"nextCursor":${JSON.stringify(page.nextCursor)}`;
      const tools = page.tools.map((tool) => toolText(tool, options));
      const ttlMs = page.tools.reduce(
        (least, { definition }) => Math.min(least, definition.ttlMs ?? least),
        LIST_TTL_MS,
      );
      const result = { text: `{"tools":[${tools.join(",")}]${cursor}}`, ttlMs };
      printed.set(page, result);
      return result;
    },
  };
}

/** Prints a tool: what an MCP server wrote, byte for byte, under the name that clients call it by. */
function toolText(tool: ListedTool, { isLegacy, isBound }: PrintOptions): string {
  const { name, definition, account, callable } = tool;
  const { json, outputSchema } = definition;
  // Up to 2025-11-25 structured results must be objects; clients reject tools with other schemas.
  const isHidden = isLegacy && outputSchema !== undefined && outputSchema.type !== "object";
  if (json === undefined) return JSON.stringify(toWireTool(tool, isHidden));
  const changes = {
    ...(name !== definition.name && { name: JSON.stringify(name) }),
    ...(account !== undefined && { description: JSON.stringify(describeListed(tool)) }),
    ...(isHidden && { outputSchema: undefined }),
  };
  const text = Object.keys(changes).length === 0 ? json : withMembers(json, changes);
  if (isBound || callable === undefined) return text;
  return renameLinks(text, LINKS.tool, (uri) => qualifyUri(uri, callable.connection.id));
}

/** Converts one of the service's own tools to its MCP form. */
function toWireTool(tool: ListedTool, isOutputHidden: boolean): JsonObject {
  const { name, definition } = tool;
  const { inputSchema, outputSchema, readOnly, hints = {}, listed } = definition;
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
    description: describeListed(tool),
    inputSchema,
    ...(outputSchema !== undefined && !isOutputHidden && { outputSchema }),
  };
}
