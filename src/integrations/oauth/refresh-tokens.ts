import { processRefreshTokenResponse, refreshTokenGrantRequest } from "oauth4webapi";
import type { Dispatcher } from "undici";
import type { AuthorizationTerms, IssuedTokens } from "../authorization.ts";
import { requestTokens, tokenEndpointRequest } from "./token-request.ts";

/**
 * Another access token for a refresh token (RFC 6749 §6). Where the answer names no new refresh token, the one brought stays
 * good and is given back. Throws TokenFailure, of kind `ended` where only the owner can help, or the signal's reason.
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
