import { quote, type Endpoint } from "../endpoint.ts";
import type { Requester } from "../request.ts";
import {
  CLIENT_INFO,
  createFirstContact,
  createSession,
  HANDSHAKE_VERSIONS,
  STATELESS_VERSION,
  type Session,
} from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/**
 * Agrees with a server on how to speak: the handshake first, and where a server answers it with a JSON-RPC error, the
 * revision without one. Throws UpstreamFailure.
 */
export async function openSession(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<Session> {
  try {
    return await shakeHands(requester, endpoint, deadlineMs, signal);
  } catch (error) {
    const knowsJsonRpc = error instanceof UpstreamFailure && error.code !== undefined;
    const stateless = knowsJsonRpc ? await discover(requester, endpoint, deadlineMs, signal) : undefined;
    if (stateless === undefined) throw error;
    return stateless;
  }
}

async function shakeHands(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<Session> {
  const { result, sessionId } = await requester.request(createFirstContact(endpoint), {
    method: "initialize",
    params: { protocolVersion: HANDSHAKE_VERSIONS[0], capabilities: {}, clientInfo: CLIENT_INFO },
    deadlineMs,
    signal,
  });
  const offered = result.protocolVersion;
  const protocolVersion = HANDSHAKE_VERSIONS.find((version) => version === offered);
  if (protocolVersion === undefined) {
    const named = typeof offered === "string" ? quote(offered, endpoint) : "none";
    throw new UpstreamFailure(
      "not_mcp",
      `The MCP server at ${endpoint.label} offers no protocol revision that is supported here (${named}).`,
    );
  }
  if (sessionId !== undefined && !/^[\x21-\x7e]{1,1024}$/.test(sessionId)) {
    throw new UpstreamFailure(
      "not_mcp",
      `The MCP server at ${endpoint.label} gave a session id that breaks the protocol.`,
    );
  }
  const session = createSession(endpoint, { era: "handshake", protocolVersion, id: sessionId }, result);
  await requester.notify(session, { method: "notifications/initialized" });
  return session;
}

/** A session of the 2026-07-28 revision, or undefined where the server does not speak it either. */
async function discover(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<Session | undefined> {
  const agreed = { era: "stateless", protocolVersion: STATELESS_VERSION, id: undefined } as const;
  const asking = createSession(endpoint, agreed);
  try {
    const { result } = await requester.request(asking, { method: "server/discover", params: {}, deadlineMs, signal });
    const versions = result.supportedVersions;
    const isSpoken = Array.isArray(versions) && versions.includes(STATELESS_VERSION);
    return isSpoken ? createSession(endpoint, agreed, result) : undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure && error.kind === "unauthorized") throw error;
    return undefined;
  }
}
