import type { JsonObject } from "../../json.ts";
import { exchange, type ExchangeLimits } from "../exchange.ts";
import { type Challenge, readChallenge } from "../oauth/challenge.ts";
import { TokenFailure } from "../oauth/token-failure.ts";
import type { Reach } from "../oauth/fetch-metadata.ts";
import { endpointOf } from "./endpoint.ts";
import { CLIENT_INFO, HANDSHAKE_VERSIONS } from "./session.ts";
import { transportFailure } from "./transport-failure.ts";

const LIMITS: ExchangeLimits = { maxBytes: 256 * 1024, timeoutMs: 10_000 };

/**
 * What an MCP server says to a request without a token: its challenge, undefined where it asks for none. Throws TokenFailure
 * where it cannot be reached, or the signal's reason.
 */
export async function askChallenge(
  configuration: JsonObject,
  { dispatcher }: Reach,
  signal: AbortSignal,
): Promise<Challenge | undefined> {
  const { api_token: _unsent, ...rest } = configuration;
  const endpoint = endpointOf(rest);
  const body = JSON.stringify({
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: HANDSHAKE_VERSIONS[0], capabilities: {}, clientInfo: CLIENT_INFO },
  });
  const headers: Record<string, string> = {};
  for (let index = 0; index + 1 < endpoint.headers.length; index += 2)
    headers[endpoint.headers[index] ?? ""] = endpoint.headers[index + 1] ?? "";
  const request = { method: "POST", origin: endpoint.origin, path: endpoint.path, headers, body };
  const outcome = await exchange(dispatcher, request, LIMITS, signal);
  if ("failure" in outcome) {
    if (outcome.failure.kind !== "broken") return undefined;
    const { kind, message } = transportFailure(outcome.failure.error, endpoint);
    throw new TokenFailure(kind === "refused" ? "other" : "down", message, { cause: outcome.failure.error });
  }
  const { status, headers: received } = outcome.answer;
  return status === 401 ? readChallenge(received["www-authenticate"]) : undefined;
}
