import { createHash } from "node:crypto";
import type { Principal } from "../../identity/principal.ts";
import { type ClientIdentity, relayedCapabilities, type RelayedClient } from "../../integrations/relayed-client.ts";
import { isJsonObject, printInKeyOrder, type JsonObject } from "../../json.ts";
import type { RequestState, RequestStates, StatefulRequest } from "../../runtime/relay/request-state.ts";
import { invalidParams } from "./methods.ts";

/** What a client of 2026-07-28 adds when it repeats a request. */
export interface RepeatedInput {
  readonly responses: JsonObject | undefined;
  readonly state: RequestState | undefined;
}

/** Throws RpcFault or RpcError for unusable input. */
export function readInput(states: RequestStates, request: StatefulRequest): RepeatedInput {
  const { inputResponses: responses, requestState: sealed } = request.params;
  if (responses !== undefined) checkResponses(responses);
  if (sealed !== undefined && typeof sealed !== "string") throw invalidParams("requestState must be a string.");
  return {
    responses: isJsonObject(responses) ? responses : undefined,
    state: sealed === undefined ? undefined : states.open(request, sealed),
  };
}

/** The client of a request of 2026-07-28. `ask` asks it while its call is parked. */
export function createModernClient(
  { principal }: StatefulRequest,
  declared: JsonObject,
  { responses, state }: RepeatedInput,
  ask: RelayedClient["ask"],
): RelayedClient {
  const identity = modernIdentity(principal, declared);
  return {
    capabilities: identity.capabilities,
    get audience() {
      return identity.audience;
    },
    input: { responses, state: state?.kind === "upstream" ? state : undefined },
    ask,
    notify: () => undefined,
  };
}

/** Without sessions, a client is known by its token's account, client and grant. */
export function modernIdentity(principal: Principal, declared: JsonObject): ClientIdentity {
  const { accountId, memberId, clientId, grantId, connectionId } = principal;
  const capabilities = relayedCapabilities(declared);
  return {
    capabilities,
    get audience() {
      const member = memberId === undefined ? [] : [memberId];
      const client = [accountId, clientId, grantId ?? null, connectionId ?? null];
      const text = printInKeyOrder([...client, capabilities, ...member]);
      return createHash("sha256").update(text).digest("base64url");
    },
  };
}

function checkResponses(responses: JsonObject[string]): void {
  if (isJsonObject(responses) && Object.values(responses).every((response) => isJsonObject(response))) return;
  throw invalidParams("inputResponses must be an object with one object for each key of inputRequests.");
}
