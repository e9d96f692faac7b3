import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { Principal } from "../../../identity/principal.ts";
import { relayedCapabilities } from "../../../integrations/relayed-client.ts";
import { withoutTasks } from "../../../integrations/tasks.ts";
import { negotiateProtocolVersion, parseClientInfo, type McpSession } from "../../../runtime/sessions/session.ts";
import { invalidParams, requiredText } from "../methods.ts";
import type { Serving } from "../serving.ts";

/** Maximum size of the declared capabilities, in characters of JSON. */
const MAX_CAPABILITIES_LENGTH = 16_384;

/** What a client states in `initialize`. */
export type ClientIntroduction = Pick<McpSession, "protocolVersion" | "clientInfo" | "clientCapabilities">;

/** Reads the parameters of `initialize` and negotiates the revision. Throws RpcFault, or `invalid` past a limit. */
export function readIntroduction(params: JsonObject): ClientIntroduction {
  const { clientInfo, capabilities: declared } = params;
  const peer = isJsonObject(clientInfo) ? clientInfo : {};
  const protocolVersion = negotiateProtocolVersion(requiredText(params, "protocolVersion"));
  const info = parseClientInfo({ name: textOr(peer.name), version: textOr(peer.version) });
  const clientCapabilities = withoutTasks(relayedCapabilities(isJsonObject(declared) ? declared : {}));
  if (JSON.stringify(clientCapabilities).length > MAX_CAPABILITIES_LENGTH)
    throw invalidParams(`capabilities must have at most ${MAX_CAPABILITIES_LENGTH} characters.`);
  return { protocolVersion, clientInfo: info, clientCapabilities };
}

/** Returns the result of `initialize` as JSON. */
export async function introductionText(
  { features, serverInfo: own }: Pick<Serving, "features" | "serverInfo">,
  principal: Principal,
  { protocolVersion }: Pick<McpSession, "protocolVersion">,
): Promise<string> {
  const introduction = await features.introduce(principal);
  const { extensions = {}, ...others } = introduction.capabilities;
  const capabilities = { tools: { listChanged: true }, ...others, ...withoutTasks({ extensions }) };
  const { serverInfo = own, instructions } = introduction;
  return JSON.stringify({
    protocolVersion,
    capabilities,
    serverInfo,
    ...(instructions !== undefined && { instructions }),
  });
}

function textOr(value: JsonObject[string] | undefined): string {
  return typeof value === "string" ? value : "";
}
