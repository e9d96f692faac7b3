import { create } from "@bufbuild/protobuf";
import {
  type ToolPage as WireToolPage,
  ToolPageSchema,
} from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import {
  type Tool,
  type ToolAnnotations,
  ToolAnnotationsSchema,
  ToolSchema,
} from "../../../../gen/proto/patchbay/v1/tool_pb.ts";
import type { ConnectionTool } from "../../../connections/connection-tools.ts";
import type { ToolPage } from "../../../connections/list-tools.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";

export function toWireAnnotations({ annotations, readOnly, hints = {} }: ToolDefinition): ToolAnnotations {
  const { audience, requiresAuth, category } = annotations;
  const { destructive, idempotent, openWorld } = hints;
  return create(ToolAnnotationsSchema, {
    audience: [...audience],
    requiresAuth,
    ...(category === undefined ? {} : { category }),
    readOnlyHint: readOnly,
    ...(destructive === undefined ? {} : { destructiveHint: destructive }),
    ...(idempotent === undefined ? {} : { idempotentHint: idempotent }),
    ...(openWorld === undefined ? {} : { openWorldHint: openWorld }),
  });
}

export function toWireTool({ id, definition, enabled, proposed }: ConnectionTool): Tool {
  return create(ToolSchema, {
    name: definition.name,
    description: definition.description,
    inputSchema: definition.inputSchema,
    annotations: toWireAnnotations(definition),
    id,
    enabled,
    readOnly: definition.readOnly,
    ...(definition.outputSchema === undefined ? {} : { outputSchema: definition.outputSchema }),
    ...(proposed === undefined ? {} : { changePending: true }),
  });
}

export function toWireToolPage(listed: ToolPage, connectionId: number): WireToolPage {
  return create(ToolPageSchema, {
    tools: listed.tools.map(toWireTool),
    totalCount: listed.totalCount,
    mcpServerId: connectionId,
    ...(listed.page ?? {}),
  });
}
