import { createHash } from "node:crypto";
import { parseRole } from "../../../identity/organizations/role.ts";
import { isScope } from "../../../identity/scopes.ts";
import { isJsonObject, type JsonObject, type JsonValue, parseJson } from "../../../json.ts";
import type { Principal } from "../../../identity/principal.ts";

/** A POST as it travels to the replica with the stream. */
export interface PostedMessage {
  /** The principal of the POST's token, which the gate has accepted. */
  readonly bearer: Principal;
  /** The body: valid JSON. */
  readonly body: string;
}

/** Returns the relay address for the messages to a session's stream. It is a digest, because it appears on the bus. */
export function streamAddress(sessionId: string): string {
  return createHash("sha256").update(sessionId).digest("base64url");
}

/** One line with the principal, then the body, whose text stays as it is. */
export function printPosted({ bearer, body }: PostedMessage): string {
  const { scopes, connectionIds, ...rest } = bearer;
  const header = { ...rest, scopes: [...scopes], connectionIds: connectionIds && [...connectionIds] };
  return `${JSON.stringify(header)}\n${body}`;
}

/** Reads what a replica printed. Throws Error for anything else. */
export function readPosted(text: string): PostedMessage {
  const end = text.indexOf("\n");
  const header = parseJson(text.slice(0, end), { maxDepth: 2 });
  if (!isJsonObject(header)) throw new Error("a relayed message has no principal");
  return { bearer: readPrincipal(header), body: text.slice(end + 1) };
}

function readPrincipal({ scopes, connectionIds, ...printed }: JsonObject): Principal {
  const text = (name: string): string => {
    const value = printed[name];
    if (typeof value !== "string") throw new Error(`${name} of a relayed principal is missing`);
    return value;
  };
  const number = (name: string): number | undefined => {
    const value = printed[name];
    return typeof value === "number" ? value : undefined;
  };
  return {
    accountId: text("accountId"),
    memberId: printed["memberId"] === undefined ? undefined : text("memberId"),
    role: printed["role"] === undefined ? undefined : parseRole(text("role")),
    clientId: text("clientId"),
    scopes: new Set(listOf(scopes).filter((scope) => typeof scope === "string" && isScope(scope))),
    connectionId: number("connectionId"),
    grantId: printed.grantId === undefined ? undefined : text("grantId"),
    connectionIds:
      connectionIds === undefined ? undefined : new Set(listOf(connectionIds).filter((id) => typeof id === "number")),
    tokenId: text("tokenId"),
    audience: text("audience"),
    issuedAt: number("issuedAt") ?? 0,
    expiresAt: number("expiresAt"),
  };
}

function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
