import { randomBytes } from "node:crypto";
import type { Principal } from "../../identity/principal.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import type { JsonObject } from "../../json.ts";
import type { McpLogLevel } from "../../integrations/relay.ts";
import { isLongerThan } from "../../text-length.ts";

/** Maximum number of sessions. Opening one more ends the longest idle session of the same client. */
export const MAX_SESSIONS_PER_ACCOUNT = 100;
/** The longest time between two stored uses, in milliseconds. */
const MAX_TOUCH_INTERVAL_MS = 5 * 60_000;
/** The MCP revisions with sessions, oldest first. */
export const SESSION_PROTOCOL_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

const NEWEST = "2025-11-25";
const SESSION_ID = /^[A-Za-z0-9_-]{22,64}$/;
const MAX_PEER_LENGTH = 255;

/** Name and version of a client or server (MCP `Implementation`); empty if not given. */
export interface Peer {
  readonly name: string;
  readonly version: string;
}

/** The state that the service keeps for a client between calls. */
export interface McpSession {
  readonly accountId: string;
  /** Secret: whoever knows it and has a token of the same client can use the session. */
  readonly id: string;
  /** The member who opened it, in an organization. */
  readonly memberId: string | undefined;
  /** The only client that may use the session. */
  readonly clientId: string;
  /** The connection that the opening token was bound to. */
  readonly connectionId: number | undefined;
  /** The grant that the opening token came from. */
  readonly grantId: string | undefined;
  /** The MCP revision. */
  readonly protocolVersion: string;
  readonly clientInfo: Peer;
  /** The capabilities that the client declared, as far as the service passes them on. */
  readonly clientCapabilities: JsonObject;
  /**
   * Deleting one of these connections ends the session. Calls over REST and RPC add their connections; MCP calls do
   * not.
   */
  readonly calledConnectionIds: ReadonlySet<number>;
  /** Connection ids by tool id. A bare tool name refers to the same connection for the whole session. */
  readonly bareNameOwners: ReadonlyMap<number, number>;
  /** Connection ids by alias. An alias in a tool name refers to the same connection for the whole session. */
  readonly aliasOwners: ReadonlyMap<string, number>;
  /** The lowest log level that the client receives; undefined until the client sets one. */
  readonly logLevel: McpLogLevel | undefined;
  /** The resources that the client subscribed to, by the URIs that the client knows. */
  readonly resourceUris: ReadonlySet<string>;
  /** Changes with every stored change of the session. */
  readonly version: string;
}

/** Returns the revision of the client if it is supported, else the newest one with sessions. */
export function negotiateProtocolVersion(wanted: string): string {
  return SESSION_PROTOCOL_VERSIONS.find((version) => version === wanted) ?? NEWEST;
}

/** Returns 192 random bits as base64url. */
export function createSessionId(): string {
  return randomBytes(24).toString("base64url");
}

/** Reads the session id of a request. Throws `invalid` if it is missing and `not_found` if it is malformed. */
export function parseSessionId(header: string | null | undefined): string {
  if (header === undefined || header === null || header === "") {
    throw invalid(
      "X-Session-ID",
      "The X-Session-ID header is required. Open a session with initialize and send its id with every call.",
    );
  }
  if (!SESSION_ID.test(header)) throw new SessionNotFound();
  return header;
}

/** The same error for missing, ended and foreign sessions, so that it does not reveal which ids exist. */
export class SessionNotFound extends DomainError {
  constructor() {
    super("not_found", "Session not found or has ended. Open a new one with initialize.");
    this.name = "SessionNotFound";
  }
}

/** Whether a session has the account, member, client, binding and grant of the principal. */
export function belongsTo(session: McpSession, principal: Principal): boolean {
  return (
    session.accountId === principal.accountId &&
    session.memberId === principal.memberId &&
    session.clientId === principal.clientId &&
    session.connectionId === principal.connectionId &&
    session.grantId === principal.grantId
  );
}

/** How often the last use is stored, in milliseconds: at most every 5 minutes, more often for short idle times. */
export function touchIntervalMs(idleSeconds: number): number {
  return Math.min(MAX_TOUCH_INTERVAL_MS, idleSeconds * 100);
}

/** Throws `invalid` with the field that exceeds its limits. */
export function parseClientInfo(clientInfo: Peer): Peer {
  return {
    name: checkPeerText("clientInfo.name", clientInfo.name),
    version: checkPeerText("clientInfo.version", clientInfo.version),
  };
}

function checkPeerText(field: string, text: string): string {
  if (isLongerThan(text, MAX_PEER_LENGTH))
    throw invalid(field, `${field} must be at most ${MAX_PEER_LENGTH} characters.`);
  // PostgreSQL cannot store these characters.
  if (text.includes("\0") || !text.isWellFormed())
    throw invalid(field, `${field} must be text without NUL characters.`);
  return text;
}
