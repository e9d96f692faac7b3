import type { UpdateConnectionRequest } from "../../../../gen/proto/patchbay/v1/connection_service_pb.ts";
import type { ConnectionChange } from "../../../connections/change.ts";
import { invalid } from "../../../domain-error.ts";

/**
 * Returns the fields that an update supplies: without a field mask every present field; with one the fields it names.
 * Only `disabled_tools` may be named without being present, which clears it.
 */
export function fromUpdateRequest(request: UpdateConnectionRequest): ConnectionChange {
  const mask = request.updateMask && new Set(request.updateMask.paths);
  const named = (path: string): boolean => mask === undefined || mask.has(path);
  const unknown = request.updateMask?.paths.find((path) => !(path in PRESENT));
  if (unknown !== undefined) {
    throw invalid(
      "update_mask",
      `update_mask: ${JSON.stringify(unknown.slice(0, 64))} is not a field that an update can change.`,
    );
  }
  const missing = request.updateMask?.paths.find((path) => PRESENT[path]?.(request) === false);
  if (missing !== undefined)
    throw invalid(missing, `update_mask names ${missing}, but the request does not supply it.`);
  return {
    connectionId: request.connectionId,
    agentEnabled: named("agent_enabled") ? request.agentEnabled : undefined,
    accessType: named("access_type") ? request.accessType : undefined,
    apiKey: named("api_key") ? request.apiKey : undefined,
    name: named("name") ? request.name : undefined,
    alias: named("alias") ? request.alias : undefined,
    description: named("description") ? request.description : undefined,
    clientSecret: named("oauth2_client_secret") ? request.oauth2ClientSecret : undefined,
    configuration: named("config") ? request.config : undefined,
    disabledTools:
      mask?.has("disabled_tools") === true || (mask === undefined && request.disabledTools.length > 0)
        ? request.disabledTools
        : undefined,
    acceptToolChanges: named("accept_tool_changes") ? request.acceptToolChanges : undefined,
    keepContentsDays: named("keep_contents_days") ? request.keepContentsDays : undefined,
    callIdleSeconds: named("call_idle_seconds") ? request.callIdleSeconds : undefined,
    callMaxSeconds: named("call_max_seconds") ? request.callMaxSeconds : undefined,
  };
}

/** Whether the request supplies a field named in a mask. */
const PRESENT: Readonly<Record<string, (request: UpdateConnectionRequest) => boolean>> = {
  connection_id: (request) => request.connectionId !== undefined,
  agent_enabled: (request) => request.agentEnabled !== undefined,
  access_type: (request) => request.accessType !== undefined,
  api_key: (request) => request.apiKey !== undefined,
  name: (request) => request.name !== undefined,
  alias: (request) => request.alias !== undefined,
  description: (request) => request.description !== undefined,
  oauth2_client_secret: (request) => request.oauth2ClientSecret !== undefined,
  config: (request) => request.config !== undefined,
  disabled_tools: () => true,
  accept_tool_changes: (request) => request.acceptToolChanges !== undefined,
  keep_contents_days: (request) => request.keepContentsDays !== undefined,
  call_idle_seconds: (request) => request.callIdleSeconds !== undefined,
  call_max_seconds: (request) => request.callMaxSeconds !== undefined,
};
