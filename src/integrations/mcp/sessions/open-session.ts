import type { JsonObject } from "../../../json.ts";
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

/** Milliseconds that a server may take to say that it does not know `server/discover`. */
const DISCOVER_TIMEOUT_MS = 5_000;

/** After these failures `initialize` would fail as well. */
const FINAL: readonly UpstreamFailure["kind"][] = ["refused", "unreachable", "unauthorized", "busy"];

/**
 * Tries `server/discover` of the modern revision first and falls back to `initialize`, so that a server with both is
 * used in the newer revision. Throws UpstreamFailure.
 */
export async function openSession(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal?: AbortSignal,
  /** The capabilities of the client that the session is for. */
  capabilities: JsonObject = {},
): Promise<UpstreamSession> {
  const discoverEndMs = Math.min(deadlineMs, performance.now() + DISCOVER_TIMEOUT_MS);
  const modern = await discover(requester, endpoint, discoverEndMs, signal, true);
  return modern ?? initialize(requester, endpoint, deadlineMs, signal, capabilities);
}

async function initialize(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  { roots, ...capabilities }: JsonObject,
): Promise<UpstreamSession> {
  // Changes of the client's roots are not passed on.
  const declared: JsonObject = { ...CLIENT_CAPABILITIES, ...capabilities, ...(roots !== undefined && { roots: {} }) };
  const { result, sessionId } = await requester.request(createUninitializedSession(endpoint), {
    method: "initialize",
    params: { protocolVersion: LEGACY_REVISIONS[0], capabilities: declared, clientInfo: CLIENT_INFO },
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

/** Returns undefined when the server does not support the modern revision. */
async function discover(
  requester: Requester,
  endpoint: Endpoint,
  deadlineMs: number,
  signal: AbortSignal | undefined,
  mayRetry: boolean,
): Promise<UpstreamSession | undefined> {
  const agreed = { revision: "modern", protocolVersion: MODERN_REVISION, id: undefined } as const;
  const asking = createSession(endpoint, agreed);
  try {
    const { result } = await requester.request(asking, { method: "server/discover", params: {}, deadlineMs, signal });
    const versions = result.supportedVersions;
    const isSupported = Array.isArray(versions) && versions.includes(MODERN_REVISION);
    return isSupported ? createSession(endpoint, agreed, result) : undefined;
  } catch (error) {
    signal?.throwIfAborted();
    if (!(error instanceof UpstreamFailure)) return undefined;
    if (FINAL.includes(error.kind)) throw error;
    // Some servers refuse a revision at first and list it as supported.
    const isListed = error.supportedVersions.includes(MODERN_REVISION);
    return mayRetry && isListed ? discover(requester, endpoint, deadlineMs, signal, false) : undefined;
  }
}
