import type { UpdateConnectionRequest } from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { ConnectionChange } from "../../../connections/change.ts";
import { readUpdateMask, type SuppliedFields } from "./update-mask.ts";

/** What an update request changes. Throws `invalid` for a mask that does not fit the request. */
export function fromUpdateRequest(request: UpdateConnectionRequest): ConnectionChange {
  const isNamed = readUpdateMask(request, SUPPLIED);
  return {
    connectionId: request.connectionId,
    agentEnabled: isNamed("agent_enabled") ? request.agentEnabled : undefined,
    accessType: isNamed("access_type") ? request.accessType : undefined,
    apiKey: isNamed("api_key") ? request.apiKey : undefined,
    name: isNamed("name") ? request.name : undefined,
    alias: isNamed("alias") ? request.alias : undefined,
    description: isNamed("description") ? request.description : undefined,
    clientSecret: isNamed("oauth2_client_secret") ? request.oauth2ClientSecret : undefined,
    configuration: isNamed("config") ? request.config : undefined,
    disabledTools: isNamed("disabled_tools") ? request.disabledTools : undefined,
    acceptToolChanges: isNamed("accept_tool_changes") ? request.acceptToolChanges : undefined,
    keepContentsDays: isNamed("keep_contents_days") ? request.keepContentsDays : undefined,
    callIdleSeconds: isNamed("call_idle_seconds") ? request.callIdleSeconds : undefined,
    callMaxSeconds: isNamed("call_max_seconds") ? request.callMaxSeconds : undefined,
  };
}

const SUPPLIED: SuppliedFields<UpdateConnectionRequest> = {
  connection_id: (request) => request.connectionId !== undefined,
  agent_enabled: (request) => request.agentEnabled !== undefined,
  access_type: (request) => request.accessType !== undefined,
  api_key: (request) => request.apiKey !== undefined,
  name: (request) => request.name !== undefined,
  alias: (request) => request.alias !== undefined,
  description: (request) => request.description !== undefined,
  oauth2_client_secret: (request) => request.oauth2ClientSecret !== undefined,
  config: (request) => request.config !== undefined,
  disabled_tools: (request) => request.disabledTools.length > 0 || "unknown",
  accept_tool_changes: (request) => request.acceptToolChanges !== undefined,
  keep_contents_days: (request) => request.keepContentsDays !== undefined,
  call_idle_seconds: (request) => request.callIdleSeconds !== undefined,
  call_max_seconds: (request) => request.callMaxSeconds !== undefined,
};
