import type { ServiceImpl } from "@connectrpc/connect";
import type { RuntimeService } from "../../../../gen/proto/patchbay/v1/runtime_service_pb.ts";
import type { Runtime } from "../../../runtime/runtime.ts";
import {
  createToolListMapper,
  fromInitializeRequest,
  toWireCallResult,
  toWireOpenedSession,
} from "../mappers/runtime.ts";
import { principalOf } from "../principal.ts";
import { requestHeader } from "../request-header.ts";
import { waitKey } from "../wait.ts";

/** The header (over RPC the metadata) that names a session after Initialize. */
const SESSION_HEADER = "x-session-id";

/** Handlers of RuntimeService. */
export function createRuntimeHandlers(runtime: Runtime): ServiceImpl<typeof RuntimeService> {
  const toWireToolList = createToolListMapper();
  return {
    async initialize(request, context) {
      return toWireOpenedSession(await runtime.initialize(principalOf(context), fromInitializeRequest(request)));
    },

    async listTools({ cursor }, context) {
      const sessionId = requestHeader(context, SESSION_HEADER);
      return toWireToolList(await runtime.listTools(principalOf(context), sessionId, cursor));
    },

    async callTool({ name, arguments: args = {} }, context) {
      const { signal } = context;
      const onSent = context.values.get(waitKey);
      const sessionId = requestHeader(context, SESSION_HEADER);
      return toWireCallResult(await runtime.callTool(principalOf(context), sessionId, name, args, { signal, onSent }));
    },
  };
}
