import { relayedCapabilities, type RelayedClient } from "../../integrations/relayed-client.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import type { RequestStates, StatefulRequest } from "../../runtime/relay/request-state.ts";
import { invalidParams } from "./methods.ts";

/** The client of a request of 2026-07-28, with the input that it adds. Throws RpcFault or RpcError for unusable input. */
export function readModernClient(
  states: RequestStates,
  request: StatefulRequest,
  capabilities: JsonObject,
): RelayedClient {
  const { inputResponses: responses, requestState: sealed } = request.params;
  if (responses !== undefined) checkResponses(responses);
  if (sealed !== undefined && typeof sealed !== "string") throw invalidParams("requestState must be a string.");
  return {
    capabilities: relayedCapabilities(capabilities),
    input: {
      responses: isJsonObject(responses) ? responses : undefined,
      state: sealed === undefined ? undefined : states.open(request, sealed),
    },
  };
}

function checkResponses(responses: JsonObject[string]): void {
  if (isJsonObject(responses) && Object.values(responses).every((response) => isJsonObject(response))) return;
  throw invalidParams("inputResponses must be an object with one object for each key of inputRequests.");
}
