import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { ServerIntroduction } from "../../features.ts";
import type { RelayedClient } from "../../relayed-client.ts";
import { SKILLS_EXTENSION } from "../../skills.ts";
import type { Endpoint } from "../http/endpoint.ts";
import type { EventChannel } from "./event-channel.ts";

/** An initialized session, or the sessionless 2026-07-28 revision. */
export interface UpstreamSession {
  readonly endpoint: Endpoint;
  /** `legacy` up to 2025-11-25 (with `initialize`), `modern` from 2026-07-28. */
  readonly revision: "legacy" | "modern";
  readonly protocolVersion: string;
  /** The `Mcp-Session-Id`; undefined for servers without sessions. */
  readonly id: string | undefined;
  /** Set for a server that speaks HTTP+SSE instead of Streamable HTTP. */
  readonly channel: EventChannel | undefined;
  readonly capabilities: JsonObject;
  readonly server: ServerIntroduction;
  /** Whether the upstream notifies about changes of its lists. */
  readonly notifiesListChanges: boolean;
  /** Alternating names and values that every request carries. */
  readonly headers: readonly string[];
  readonly nextRequestId: () => number;
  /** The clients of the running calls that can answer requests outside a call's answer, newest last. */
  readonly clients: Set<RelayedClient>;
  /** Aborted when the session is closed, for its streams. */
  readonly closing: AbortController;
}

/** Newest first. */
export const LEGACY_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

export const MODERN_REVISION = "2026-07-28";

export const CLIENT_INFO = { name: "patchbay", title: "Patchbay", version: "0.1.0" };

/** MCP Apps (SEP-1865). */
export const UI_EXTENSION = "io.modelcontextprotocol/ui";

/**
 * The capabilities that the service declares for every client. Tools with an app return text as well, so clients
 * without apps lose nothing.
 */
export const CLIENT_CAPABILITIES: JsonObject = {
  extensions: { [UI_EXTENSION]: { mimeTypes: ["text/html;profile=mcp-app"] }, [SKILLS_EXTENSION]: {} },
};

export function createSession(
  endpoint: Endpoint,
  agreed: Pick<UpstreamSession, "revision" | "protocolVersion" | "id">,
  /** The result of `initialize` or `server/discover`. */
  result: JsonObject = {},
  channel?: EventChannel,
): UpstreamSession {
  let last = 0;
  const capabilities = isJsonObject(result.capabilities) ? result.capabilities : {};
  const lists = [capabilities.tools, capabilities.resources, capabilities.prompts];
  return {
    ...agreed,
    endpoint,
    channel,
    capabilities,
    server: introductionIn(result),
    notifiesListChanges: lists.some((one) => isJsonObject(one) && one.listChanged === true),
    headers: [
      ...endpoint.headers,
      ...["mcp-protocol-version", agreed.protocolVersion],
      ...(agreed.id === undefined ? [] : ["mcp-session-id", agreed.id]),
    ],
    nextRequestId: channel?.nextRequestId ?? (() => (last += 1)),
    clients: channel?.clients ?? new Set(),
    closing: channel?.closing ?? new AbortController(),
  };
}

const SERVER_INFO = "io.modelcontextprotocol/serverInfo";

/** 2026-07-28 has the server's info in `_meta`. */
function introductionIn({ serverInfo, instructions, _meta: meta }: JsonObject): ServerIntroduction {
  const info = serverInfo ?? (isJsonObject(meta) ? meta[SERVER_INFO] : undefined);
  return {
    info: isJsonObject(info) && typeof info.name === "string" && typeof info.version === "string" ? info : undefined,
    instructions: typeof instructions === "string" && instructions !== "" ? instructions : undefined,
  };
}

/** A session without an id and a version, for `initialize` itself. */
export function createUninitializedSession(endpoint: Endpoint, channel?: EventChannel): UpstreamSession {
  return {
    ...createSession(endpoint, { revision: "legacy", protocolVersion: "", id: undefined }, {}, channel),
    headers: endpoint.headers,
  };
}
