import type { OAuthGrantStore } from "../../../identity/grants/grants.ts";
import type { ClientRequest } from "../clients/client-request.ts";
import { invalidRequest, OAuthError } from "../oauth-error.ts";
import type { RecognizeToken } from "./presented-token.ts";

export interface RevokeTokenDeps {
  readonly recognize: RecognizeToken;
  readonly grants: Pick<OAuthGrantStore, "revoke">;
  /** Revokes one access token on every replica. */
  readonly revokeAccessToken: (accountId: string, tokenId: string) => Promise<void>;
}

/**
 * Revokes a token (RFC 7009): for a refresh token the whole grant, for an access token only that token. An unknown
 * token counts as revoked. Fails with `invalid_request` for a token of another client. oidc-provider rejects JWTs here,
 * which the test "revoking an access token invalidates only that token and keeps the grant" needs.
 */
export async function revokeToken(deps: RevokeTokenDeps, { client, parameters, origin }: ClientRequest): Promise<void> {
  const text = parameters.get("token");
  if (text === undefined) throw invalidRequest("The parameter token is missing.");
  const token = await deps.recognize(text);
  if (token === undefined) return;
  const { accountId, clientId } = token.kind === "access" ? token.principal : token.grant;
  if (clientId !== client.clientId) {
    throw new OAuthError(400, "invalid_request", "The token was issued to another client.");
  }
  if (token.kind === "refresh")
    await deps.grants.revoke(accountId, token.grant.id, {
      kind: "account",
      accountId,
      clientId,
      tokenId: undefined,
      ...origin,
    });
  else await deps.revokeAccessToken(accountId, token.principal.tokenId);
}
