import { create } from "@bufbuild/protobuf";
import { type FoundTool as WireFoundTool, FoundToolSchema } from "../../../../gen/proto/patchbay/v1/found_tool_pb.ts";
import type { FoundTool } from "../../../runtime/search/search-tools.ts";
import { toWireTool } from "./tool.ts";

export function toWireFoundTool({ connection, tool }: FoundTool): WireFoundTool {
  return create(FoundToolSchema, {
    mcpServerId: connection.id,
    mcpServerName: connection.name,
    serverType: connection.serverType,
    tool: toWireTool(tool),
  });
}
