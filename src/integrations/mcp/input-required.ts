import { isJsonObject, type JsonObject } from "../../json.ts";
import type { InputRequired, RelayedClient } from "../relayed-client.ts";
import { RpcError } from "../rpc-error.ts";

const INVALID_PARAMS = -32602;

/** The parameters that a repeated request of 2026-07-28 carries. Throws RpcError if its state is of another connection. */
export function inputParams(client: RelayedClient | undefined, connectionId: number): JsonObject {
  const input = client?.input;
  if (input === undefined) return {};
  const { responses, state } = input;
  if (state !== undefined && state.connectionId !== connectionId) {
    const message =
      "requestState belongs to another connection: the name now means a different one. " +
      "Send the request again without requestState and inputResponses.";
    throw new RpcError({ code: INVALID_PARAMS, message });
  }
  return {
    ...(responses !== undefined && { inputResponses: responses }),
    ...(state?.state !== undefined && { requestState: state.state }),
  };
}

/** Returns what an upstream needs before it can answer, or undefined for a complete result. */
export function readInputRequired(result: JsonObject, connectionId: number): InputRequired | undefined {
  if (result.resultType !== "input_required") return undefined;
  const { inputRequests, requestState } = result;
  return {
    connectionId,
    requests: isJsonObject(inputRequests) ? inputRequests : {},
    state: typeof requestState === "string" ? requestState : undefined,
  };
}
