import type { JsonObject } from "../../json.ts";
import type { Peer } from "./session.ts";

/** The MCP revisions that have sessions, oldest first. */
export const SESSION_PROTOCOL_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

const NEWEST = "2025-11-25";

/** How a client introduces itself. */
export interface Introduction {
  /** The revision it speaks. */
  readonly protocolVersion: string;
  readonly clientInfo: Peer;
}

/** What a client learns when its session opens. */
export interface OpenedSession {
  readonly sessionId: string;
  readonly protocolVersion: string;
  /** What the service can do, as MCP defines it. */
  readonly capabilities: JsonObject;
  readonly serverInfo: Peer;
}

/** The revision that a session speaks: the client's when we know it, else our newest that has sessions. */
export function negotiateProtocolVersion(wanted: string): string {
  return SESSION_PROTOCOL_VERSIONS.find((version) => version === wanted) ?? NEWEST;
}

/** What the REST and RPC runtime can do: tools, without notifications of changes. */
export const RUNTIME_CAPABILITIES: JsonObject = { tools: { listChanged: false } };
