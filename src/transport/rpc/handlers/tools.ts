import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import { SearchToolsResponseSchema, type ToolService } from "../../../../gen/proto/patchbay/v1/tool_service_pb.ts";
import type { ToolSearch } from "../../../runtime/search/search-tools.ts";
import { toWireFoundTool } from "../mappers/found-tool.ts";
import { principalOf } from "../principal.ts";

/** Handlers of ToolService. */
export function createToolHandlers(search: ToolSearch): ServiceImpl<typeof ToolService> {
  return {
    async searchTools({ q, serverId, limit, offset }, context) {
      const found = await search(principalOf(context), { q, serverId, limit, offset });
      return create(SearchToolsResponseSchema, {
        success: true,
        data: found.items.map(toWireFoundTool),
        totalCount: found.totalCount,
        limit: found.limit,
        offset: found.offset,
        hasMore: found.hasMore,
      });
    },
  };
}
