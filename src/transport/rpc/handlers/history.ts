import { create } from "@bufbuild/protobuf";
import type { ServiceImpl } from "@connectrpc/connect";
import {
  GetCallResponseSchema,
  GetUsageResponseSchema,
  type HistoryService,
  ListCallsResponseSchema,
  ListConnectionUsageResponseSchema,
} from "../../../../gen/proto/patchbay/v1/history_service_pb.ts";
import type { CallHistoryReader } from "../../../runtime/calls/history-reader.ts";
import { toWireCall, toWireConnectionUsage, toWireUsage } from "../mappers/call.ts";
import { toWireCallContents } from "../mappers/call-contents.ts";
import { fromWireRange } from "../mappers/timestamp.ts";
import { principalOf } from "../principal.ts";

/** Handlers of HistoryService. */
export function createHistoryHandlers(callHistory: CallHistoryReader): ServiceImpl<typeof HistoryService> {
  return {
    async listCalls({ serverId, tool, outcome, since, until, limit, cursor }, context) {
      const query = { serverId, tool, outcome, ...fromWireRange({ since, until }), limit, cursor };
      const { calls, nextCursor } = await callHistory.list(principalOf(context), query);
      return create(ListCallsResponseSchema, {
        success: true,
        data: calls.map(toWireCall),
        ...(nextCursor === undefined ? {} : { nextCursor }),
      });
    },

    async getCall({ serverId, callId }, context) {
      const call = await callHistory.get(principalOf(context), serverId, callId);
      return create(GetCallResponseSchema, { success: true, data: toWireCallContents(call) });
    },

    async getUsage({ serverId, tool, since, until, groupBy }, context) {
      const query = { serverId, tool, ...fromWireRange({ since, until }), groupBy };
      const { groups, hasMore } = await callHistory.usage(principalOf(context), query);
      return create(GetUsageResponseSchema, { success: true, data: groups.map(toWireUsage), hasMore });
    },

    async listConnectionUsage(_request, context) {
      const used = await callHistory.usageOfConnections(principalOf(context));
      return create(ListConnectionUsageResponseSchema, { success: true, data: used.map(toWireConnectionUsage) });
    },
  };
}
