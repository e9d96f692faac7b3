import { isJsonObject, parseJson } from "../../json.ts";
import type { ExchangeLimits } from "../upstream-exchange.ts";
import type { OutboundAccess } from "./fetch-metadata.ts";
import { createFetch } from "./outbound-fetch.ts";
import type { DescribedServer } from "./server-metadata.ts";

const LIMITS: ExchangeLimits = { maxBytes: 64 * 1024, timeoutMs: 10_000 };
const MAX_DEPTH = 16;

/**
 * Returns the authorization server at an origin without metadata (MCP 2025-03-26, «Fallbacks for Servers without
 * Metadata Discovery»), or undefined if nothing there answers like a token endpoint. All its endpoints have that
 * origin, so neither codes nor secrets reach another server. Throws the signal's reason.
 */
export async function findDefaultEndpoints(
  { origin }: URL,
  { dispatcher }: OutboundAccess,
  signal: AbortSignal,
): Promise<DescribedServer | undefined> {
  const tokenEndpoint = `${origin}/token`;
  const isTokenEndpoint = await answersLikeTokenEndpoint(tokenEndpoint, dispatcher, signal);
  if (!isTokenEndpoint) return undefined;
  return {
    server: {
      issuer: origin,
      authorizationEndpoint: `${origin}/authorize`,
      tokenEndpoint,
      revocationEndpoint: undefined,
      sendsIssuer: false,
    },
    registrationEndpoint: `${origin}/register`,
    supportsClientDocuments: false,
    authentications: undefined,
    scopes: undefined,
  };
}

/** RFC 6749 §5.2. Other endpoints also answer with an `error`, such as "Not Found". */
const TOKEN_ERRORS: ReadonlySet<string> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);

/** Sends a token request without code and client, which a token endpoint answers with an error (RFC 6749 §5.2). */
async function answersLikeTokenEndpoint(
  address: string,
  dispatcher: OutboundAccess["dispatcher"],
  signal: AbortSignal,
): Promise<boolean> {
  try {
    const response = await createFetch(dispatcher, LIMITS)(address, {
      method: "POST",
      headers: { accept: "application/json", "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ grant_type: "authorization_code" }),
      signal,
    });
    const answer = parseJson(await response.text(), { maxDepth: MAX_DEPTH });
    if (!isJsonObject(answer)) return false;
    const { error, access_token: token } = answer;
    if (response.ok) return typeof token === "string";
    const isRefusal = response.status === 400 || response.status === 401;
    return isRefusal && typeof error === "string" && TOKEN_ERRORS.has(error);
  } catch {
    signal.throwIfAborted();
    return false;
  }
}
