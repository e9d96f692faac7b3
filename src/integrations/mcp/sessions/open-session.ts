import { quote, type Endpoint } from "../http/endpoint.ts";
import type { Requester } from "./request.ts";
import {
  CLIENT_CAPABILITIES,
  CLIENT_INFO,
  createUninitializedSession,
  createSession,
  LEGACY_REVISIONS,
  MODERN_REVISION,
  type UpstreamSession,
} from "./session.ts";
import { UpstreamFailure } from "../failures/upstream-failure.ts";

/**
 * Tries `initialize` first, then the modern revision when the server answers with a JSON-RPC error. Throws
 * UpstreamFailure.
 */
export async function openSession(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<UpstreamSession> {
  try {
    return await initialize(requester, endpoint, deadlineMs, signal);
  } catch (error) {
    const knowsJsonRpc = error instanceof UpstreamFailure && error.code !== undefined;
    const modern = knowsJsonRpc ? await discover(requester, endpoint, deadlineMs, signal) : undefined;
    if (modern === undefined) throw error;
    return modern;
  }
}

async function initialize(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<UpstreamSession> {
  const { result, sessionId } = await requester.request(createUninitializedSession(endpoint), {
    method: "initialize",
    params: { protocolVersion: LEGACY_REVISIONS[0], capabilities: CLIENT_CAPABILITIES, clientInfo: CLIENT_INFO },
    deadlineMs,
    signal,
  });
  const answered = result.protocolVersion;
  const protocolVersion = LEGACY_REVISIONS.find((version) => version === answered);
  if (protocolVersion === undefined) {
    const named = typeof answered === "string" ? quote(answered, endpoint) : "none";
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
  const session = createSession(endpoint, { revision: "legacy", protocolVersion, id: sessionId }, result);
  await requester.notify(session, { method: "notifications/initialized" });
  return session;
}

/** Returns undefined when the server does not support the modern revision either. */
async function discover(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
): Promise<UpstreamSession | undefined> {
  const agreed = { revision: "modern", protocolVersion: MODERN_REVISION, id: undefined } as const;
  const asking = createSession(endpoint, agreed);
  try {
    const { result } = await requester.request(asking, { method: "server/discover", params: {}, deadlineMs, signal });
    const versions = result.supportedVersions;
    const isSupported = Array.isArray(versions) && versions.includes(MODERN_REVISION);
    return isSupported ? createSession(endpoint, agreed, result) : undefined;
  } catch (error) {
    if (error instanceof UpstreamFailure && error.kind === "unauthorized") throw error;
    return undefined;
  }
}
