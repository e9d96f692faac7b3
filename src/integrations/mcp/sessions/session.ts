import { isJsonObject, type JsonObject } from "../../../json.ts";
import type { Endpoint } from "../http/endpoint.ts";

/** An agreement with an upstream on how to speak: an `initialize`d session, or the 2026-07-28 revision, which has none. */
export interface UpstreamSession {
  readonly endpoint: Endpoint;
  /** `handshake` up to 2025-11-25, `stateless` from 2026-07-28 on. */
  readonly revision: "legacy" | "modern";
  readonly protocolVersion: string;
  /** The upstream's id of the session; undefined for servers that keep none. */
  readonly id: string | undefined;
  /** What the upstream says it offers, as it came. */
  readonly capabilities: JsonObject;
  /** Whether the upstream tells of changes of its lists. */
  readonly notifiesListChanges: boolean;
  /** What every request carries: the endpoint's headers, the session and the version, names and values in turn. */
  readonly headers: readonly string[];
  /** An id for the next request, unique within the session. */
  readonly nextRequestId: () => number;
}

/** Revisions with a handshake, the newest first: what we offer, and what we accept. */
export const LEGACY_REVISIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

/** The revision without a handshake that we speak. */
export const MODERN_REVISION = "2026-07-28";

/** Who we say we are. */
export const CLIENT_INFO = { name: "patchbay", title: "Patchbay", version: "0.1.0" };

/** A session as agreed. */
export function createSession(
  endpoint: Endpoint,
  agreed: Pick<UpstreamSession, "revision" | "protocolVersion" | "id">,
  /** The result of `initialize` or `server/discover`. */
  result: JsonObject = {},
): UpstreamSession {
  let last = 0;
  const capabilities = isJsonObject(result.capabilities) ? result.capabilities : {};
  const lists = [capabilities.tools, capabilities.resources, capabilities.prompts];
  return {
    ...agreed,
    endpoint,
    capabilities,
    notifiesListChanges: lists.some((one) => isJsonObject(one) && one.listChanged === true),
    headers: [
      ...endpoint.headers,
      ...["mcp-protocol-version", agreed.protocolVersion],
      ...(agreed.id === undefined ? [] : ["mcp-session-id", agreed.id]),
    ],
    nextRequestId: () => (last += 1),
  };
}

/** What is spoken before anything is agreed: no session, no version, for `initialize` itself. */
export function createUninitializedSession(endpoint: Endpoint): UpstreamSession {
  return {
    ...createSession(endpoint, { revision: "legacy", protocolVersion: "", id: undefined }),
    headers: endpoint.headers,
  };
}
