import { create } from "@bufbuild/protobuf";
import {
  CallToolResponseSchema,
  InitializeResponseSchema,
  ListToolsResponseSchema,
  RuntimeToolSchema,
  type CallToolResponse,
  type InitializeRequest,
  type InitializeResponse,
  type ListToolsResponse,
  type RuntimeTool,
} from "../../../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import type { CallResult } from "../../../integrations/tool.ts";
import type { Introduction, OpenedSession } from "../../../runtime/runtime.ts";
import type { SessionToolPage } from "../../../runtime/tools/list-tools.ts";
import { roundNumbers } from "../../../json.ts";
import { describeListed, type ListedTool } from "../../../runtime/tools/session-tools.ts";
import { toWireAnnotations } from "./tool.ts";

/** The client's introduction of itself. Missing fields are empty. */
export function fromInitializeRequest({ protocolVersion, clientInfo }: InitializeRequest): Introduction {
  return { protocolVersion, clientInfo: { name: clientInfo?.name ?? "", version: clientInfo?.version ?? "" } };
}

export function toWireOpenedSession(opened: OpenedSession): InitializeResponse {
  return create(InitializeResponseSchema, {
    sessionId: opened.sessionId,
    protocolVersion: opened.protocolVersion,
    capabilities: opened.capabilities,
    serverInfo: { name: opened.serverInfo.name, version: opened.serverInfo.version },
  });
}

/**
 * Creates a mapper that maps each page of tools once: a page is the same object until its list changes. Over RPC exact
 * numbers are rounded in place, so a page with such numbers is mapped for every response.
 */
export function createToolListMapper(): (page: SessionToolPage) => ListToolsResponse {
  const mapped = new WeakMap<SessionToolPage, ListToolsResponse>();
  return (page) => {
    const known = mapped.get(page);
    if (known !== undefined) return known;
    const message = toWireToolList(page);
    if (page.tools.every(isRound)) mapped.set(page, message);
    return message;
  };
}

function isRound({ definition }: ListedTool): boolean {
  const { inputSchema, outputSchema = {} } = definition;
  return roundNumbers(inputSchema) === inputSchema && roundNumbers(outputSchema) === outputSchema;
}

function toWireToolList({ tools, nextCursor }: SessionToolPage): ListToolsResponse {
  return create(ListToolsResponseSchema, {
    tools: tools.map(toWireRuntimeTool),
    ...(nextCursor === undefined ? {} : { nextCursor }),
  });
}

function toWireRuntimeTool(tool: ListedTool): RuntimeTool {
  const { name, definition } = tool;
  const { inputSchema, outputSchema } = definition;
  return create(RuntimeToolSchema, {
    name,
    description: describeListed(tool),
    inputSchema,
    annotations: toWireAnnotations(definition),
    ...(outputSchema === undefined ? {} : { outputSchema }),
  });
}

export function toWireCallResult({ content, isError, structuredContent }: CallResult): CallToolResponse {
  return create(CallToolResponseSchema, {
    content: [...content],
    isError,
    ...(structuredContent === undefined ? {} : { structuredContent }),
  });
}
