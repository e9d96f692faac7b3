import { randomBytes } from "node:crypto";
import type { Principal } from "../../identity/principal.ts";
import { DomainError, invalid } from "../../domain-error.ts";
import type { LogLevel } from "../../integrations/relay.ts";
import { isLongerThan } from "../../text-length.ts";

/** Sessions an account may have open; opening one more ends the longest idle of the same client. */
export const MAX_SESSIONS_PER_ACCOUNT = 100;
/** The longest time between two writes of the last use, in milliseconds. */
const MAX_TOUCH_INTERVAL_MS = 5 * 60_000;
/** The MCP revisions that have sessions, oldest first. */
export const SESSION_PROTOCOL_VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] as const;

const NEWEST = "2025-11-25";
const SESSION_ID = /^[A-Za-z0-9_-]{22,64}$/;
const MAX_PEER_LENGTH = 255;

/** Name and version of one side of a session. Empty where it does not say. */
export interface Peer {
  readonly name: string;
  readonly version: string;
}

/** What a client and the service remember of each other between calls. */
export interface Session {
  readonly accountId: string;
  /** A secret between the client and the service. */
  readonly id: string;
  /** The client that opened it; nobody else may use it. */
  readonly clientId: string;
  /** The connection that the opening token was bound to. */
  readonly connectionId: number | undefined;
  /** The grant that the opening token came from. */
  readonly grantId: string | undefined;
  /** The MCP revision it speaks. */
  readonly protocolVersion: string;
  readonly clientInfo: Peer;
  /** The connections it has called: deleting one of them ends the session. */
  readonly calledConnectionIds: ReadonlySet<number>;
  /** Which connection a bare tool name means for as long as the session lives: connection ids by tool id. */
  readonly bareNameOwners: ReadonlyMap<number, number>;
  /** The least severe log level that its client wants to hear of. Undefined until it says. */
  readonly logLevel: LogLevel | undefined;
  /** The resources its client subscribed to, by the URIs that it knows. */
  readonly resourceUris: ReadonlySet<string>;
  /** Another word after every change of the session at rest. */
  readonly version: string;
}

/** The revision that a session speaks: the client's when we know it, else our newest that has sessions. */
export function negotiateProtocolVersion(wanted: string): string {
  return SESSION_PROTOCOL_VERSIONS.find((version) => version === wanted) ?? NEWEST;
}

/** A new session id: 192 random bits, base64url. */
export function createSessionId(): string {
  return randomBytes(24).toString("base64url");
}

/** The id a request names its session by. Throws `invalid` without one, and `not_found` for what cannot be an id. */
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

/** What missing, ended and foreign sessions have in common: there is nothing here for the caller. */
export class SessionNotFound extends DomainError {
  constructor() {
    super("not_found", "Session not found or has ended. Open a new one with initialize.");
    this.name = "SessionNotFound";
  }
}

/** Whether a session belongs to the principal: the same account, client, binding and grant. */
export function belongsTo(session: Session, principal: Principal): boolean {
  return (
    session.accountId === principal.accountId &&
    session.clientId === principal.clientId &&
    session.connectionId === principal.connectionId &&
    session.grantId === principal.grantId
  );
}

/** How often the last use is written, in milliseconds: every 5 minutes, more often when sessions idle out sooner. */
export function touchIntervalMs(idleSeconds: number): number {
  return Math.min(MAX_TOUCH_INTERVAL_MS, idleSeconds * 100);
}

/** What a client says of itself, within limits. Throws `invalid` naming the field. */
export function parseClientInfo(clientInfo: Peer): Peer {
  return {
    name: checkPeerText("clientInfo.name", clientInfo.name),
    version: checkPeerText("clientInfo.version", clientInfo.version),
  };
}

function checkPeerText(field: string, text: string): string {
  if (isLongerThan(text, MAX_PEER_LENGTH))
    throw invalid(field, `${field} must be at most ${MAX_PEER_LENGTH} characters.`);
  // The database can store neither.
  if (text.includes("\0") || !text.isWellFormed())
    throw invalid(field, `${field} must be text without NUL characters.`);
  return text;
}
