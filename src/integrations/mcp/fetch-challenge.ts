import type { JsonObject } from "../../json.ts";
import { type UpstreamAnswer, sendToUpstream, type ExchangeLimits } from "../upstream-exchange.ts";
import { type Challenge, readChallenge } from "../oauth/challenge.ts";
import { TokenFailure } from "../oauth/token-failure.ts";
import type { OutboundAccess } from "../oauth/fetch-metadata.ts";
import { endpointOf } from "./http/endpoint.ts";
import { CLIENT_INFO, LEGACY_REVISIONS, MODERN_REVISION } from "./sessions/session.ts";
import { mirrorHeaders, requestMeta } from "./sessions/request-metadata.ts";
import { transportFailure } from "./failures/transport-failure.ts";

const LIMITS: ExchangeLimits = { maxBytes: 256 * 1024, timeoutMs: 10_000 };
const LIST = "tools/list";

/**
 * Returns an MCP server's challenge to requests without a token, or undefined. Some servers accept `initialize` from
 * everybody, so a list request follows. Throws TokenFailure when the server cannot be reached, or the signal's
 * reason.
 */
export async function fetchChallenge(
  configuration: JsonObject,
  { dispatcher }: OutboundAccess,
  signal: AbortSignal,
): Promise<Challenge | undefined> {
  const { api_token: _unsent, ...rest } = configuration;
  const endpoint = endpointOf(rest);
  const own = pairs(endpoint.headers);

  function post(method: string, params: JsonObject, more: readonly string[]): Promise<UpstreamAnswer | undefined> {
    return send("POST", more, JSON.stringify({ jsonrpc: "2.0", id: 1, method, params }));
  }

  async function send(
    method: "GET" | "POST",
    more: readonly string[],
    body: string | undefined,
  ): Promise<UpstreamAnswer | undefined> {
    const { origin, path } = endpoint;
    const request = { method, origin, path, headers: { ...own, ...pairs(more) }, body };
    const outcome = await sendToUpstream(dispatcher, request, LIMITS, signal);
    if ("answer" in outcome) return outcome.answer;
    if (outcome.failure.kind !== "broken") return undefined;
    const { kind, message } = transportFailure(outcome.failure.error, endpoint);
    throw new TokenFailure(kind === "refused" ? "other" : "down", message, { cause: outcome.failure.error });
  }

  const [version] = LEGACY_REVISIONS;
  const initializeParams = { protocolVersion: version, capabilities: {}, clientInfo: CLIENT_INFO };
  const initialized = await post("initialize", initializeParams, []);
  if (initialized === undefined || initialized.status === 401) return challengeIn(initialized);
  const sessionId = initialized.headers["mcp-session-id"];
  const isInitialized = initialized.status < 300;
  const listed = await post(
    LIST,
    isInitialized ? {} : { _meta: requestMeta("modern", 1, undefined) ?? {} },
    isInitialized
      ? ["mcp-protocol-version", version, ...(sessionId === undefined ? [] : ["mcp-session-id", sessionId])]
      : ["mcp-protocol-version", MODERN_REVISION, ...mirrorHeaders(LIST, undefined)],
  );
  // A server that speaks only HTTP+SSE refuses every POST before it asks for a token.
  const isSse = !isInitialized && listed?.status !== 401;
  return challengeIn(isSse ? await send("GET", [], undefined) : listed);
}

async function challengeIn(answer: UpstreamAnswer | undefined): Promise<Challenge | undefined> {
  return answer?.status === 401 ? readChallenge(answer.headers["www-authenticate"]) : undefined;
}

/** Converts alternating names and values to an object. */
function pairs(headers: readonly string[]): Record<string, string> {
  const found: Record<string, string> = {};
  for (let index = 0; index + 1 < headers.length; index += 2) found[headers[index] ?? ""] = headers[index + 1] ?? "";
  return found;
}
