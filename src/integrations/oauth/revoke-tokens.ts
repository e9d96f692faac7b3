import { revocationRequest } from "oauth4webapi";
import type { Dispatcher } from "undici";
import type { AuthorizationTerms, IssuedTokens } from "../authorization.ts";
import { TokenFailure } from "./token-failure.ts";
import { tokenRefusal, unusableAnswer } from "./token-refusal.ts";
import { requesterOf, tokenEndpointRequest } from "./token-request.ts";

/**
 * Revokes tokens (RFC 7009), the refresh token first, since most servers then revoke the whole grant. Does nothing
 * without a revocation endpoint. Throws TokenFailure (retry `busy` and `down`), or the signal's reason.
 */
export async function revokeTokens(
  terms: AuthorizationTerms,
  { refreshToken, accessToken }: Pick<IssuedTokens, "accessToken" | "refreshToken">,
  dispatcher: Dispatcher,
  signal: AbortSignal,
): Promise<void> {
  const { revocationEndpoint } = terms.server;
  if (revocationEndpoint === undefined) return;
  const { server, client, authenticate, options } = tokenEndpointRequest(terms, dispatcher, signal);
  const requester = {
    ...requesterOf(terms, [accessToken, ...(refreshToken === undefined ? [] : [refreshToken])]),
    tokenUrl: revocationEndpoint,
  };
  const revoke = async (token: string, hint: string): Promise<void> => {
    try {
      const response = await revocationRequest(server, client, authenticate, token, {
        ...options,
        additionalParameters: { token_type_hint: hint },
      });
      const text = await response.clone().text();
      // Another attempt would get the same answer.
      if (response.status < 300 || text.includes("unsupported_token_type")) return;
      throw await tokenRefusal(requester, response);
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof TokenFailure ? error : unusableAnswer(requester, error);
    }
  };
  if (refreshToken !== undefined) await revoke(refreshToken, "refresh_token");
  await revoke(accessToken, "access_token");
}
