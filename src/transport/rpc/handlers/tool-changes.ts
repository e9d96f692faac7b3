import type { ServiceImpl } from "@connectrpc/connect";
import type { ConnectionService } from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { ToolChangeReview } from "../../../connections/definitions/tool-change-review.ts";
import type { CallerOf } from "../caller.ts";
import { fromAcceptRequest, toWireAcceptance, toWireToolChanges } from "../mappers/tool-change.ts";
import { principalOf } from "../principal.ts";

/** The handlers of ConnectionService for changes of tools. */
export function createToolChangeHandlers(
  review: ToolChangeReview,
  callerOf: CallerOf,
): Pick<ServiceImpl<typeof ConnectionService>, "listToolChanges" | "acceptToolChanges"> {
  return {
    async listToolChanges({ serverId, status, tool, part, limit, offset }, context) {
      const query = { status, tool, part, limit, offset };
      return toWireToolChanges(await review.list(principalOf(context), serverId, query));
    },

    async acceptToolChanges(request, context) {
      const accepted = fromAcceptRequest(request);
      return toWireAcceptance(await review.accept(callerOf(context), request.serverId, accepted));
    },
  };
}
