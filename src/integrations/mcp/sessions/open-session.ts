import type { JsonObject } from "../../../json.ts";
import { quote, type Endpoint } from "../http/endpoint.ts";
import type { EventChannel } from "./event-channel.ts";
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

/** A server that speaks only HTTP+SSE refuses the POST with a status such as 404 or 405. */
const MAY_SPEAK_SSE: readonly UpstreamFailure["kind"][] = ["declined", "rpc"];

/** After these failures `initialize` would fail as well. */
const FINAL: readonly UpstreamFailure["kind"][] = ["refused", "unreachable", "unauthorized", "busy"];

/**
 * Tries `server/discover` of the modern revision first, then `initialize`, then HTTP+SSE, so that a server that
 * supports both revisions is used in the newer one. Throws UpstreamFailure.
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
  if (modern !== undefined) return modern;
  const opening = { endpoint, deadlineMs, signal, capabilities };
  try {
    return await initialize(requester, opening);
  } catch (error) {
    if (!(error instanceof UpstreamFailure) || !MAY_SPEAK_SSE.includes(error.kind)) throw error;
    signal?.throwIfAborted();
    return initializeOverSse(requester, opening, error);
  }
}

/** HTTP+SSE, the transport of 2024-11-05. `failure` is the answer to a POST of Streamable HTTP. */
async function initializeOverSse(
  requester: Requester,
  opening: SessionOpening,
  failure: UpstreamFailure,
): Promise<UpstreamSession> {
  const { endpoint, deadlineMs, signal } = opening;
  let channel: EventChannel | undefined;
  try {
    channel = await requester.openChannel(endpoint, deadlineMs, signal);
  } catch (error) {
    // A JSON-RPC error says more than a stream without an address.
    throw failure.kind === "rpc" ? failure : error;
  }
  if (channel === undefined) throw failure;
  try {
    return await initialize(requester, opening, channel);
  } catch (error) {
    channel.closing.abort();
    throw error;
  }
}

interface SessionOpening {
  readonly endpoint: Endpoint;
  readonly deadlineMs: number;
  readonly signal: AbortSignal | undefined;
  readonly capabilities: JsonObject;
}

async function initialize(
  requester: Requester,
  { endpoint, deadlineMs, signal, capabilities: { roots, ...capabilities } }: SessionOpening,
  channel?: EventChannel,
): Promise<UpstreamSession> {
  // Changes of the client's roots are not passed on.
  const declared: JsonObject = { ...CLIENT_CAPABILITIES, ...capabilities, ...(roots !== undefined && { roots: {} }) };
  const { result, sessionId } = await requester.request(createUninitializedSession(endpoint, channel), {
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
  const session = createSession(endpoint, { revision: "legacy", protocolVersion, id: sessionId }, result, channel);
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
