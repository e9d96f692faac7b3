import { processRefreshTokenResponse, refreshTokenGrantRequest } from "oauth4webapi";
import type { Dispatcher } from "undici";
import type { AuthorizationTerms, IssuedTokens } from "../authorization.ts";
import { requestTokens, tokenEndpointRequest } from "./token-request.ts";

/**
 * Requests an access token with a refresh token (RFC 6749 §6). Keeps the refresh token when the answer has no new
 * one. Throws TokenFailure, of kind `ended` when the owner must log in, or the signal's reason.
 */
export async function refreshTokens(
  terms: AuthorizationTerms,
  refreshToken: string,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<IssuedTokens> {
  const { server, client, authenticate, options } = tokenEndpointRequest(terms, dispatcher, signal);
  const issued = await requestTokens(
    terms,
    [refreshToken],
    signal,
    () =>
      refreshTokenGrantRequest(server, client, authenticate, refreshToken, {
        ...options,
        ...(terms.resource !== undefined && { additionalParameters: { resource: terms.resource } }),
      }),
    (response) => processRefreshTokenResponse(server, client, response),
  );
  return { ...issued, refreshToken: issued.refreshToken ?? refreshToken };
}
