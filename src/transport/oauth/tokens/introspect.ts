import type { AuthenticatedClient } from "../clients/client-authentication.ts";
import type { ClientRequest } from "../clients/client-request.ts";
import { invalidClient, invalidRequest } from "../oauth-error.ts";
import type { PresentedToken, RecognizeToken } from "./presented-token.ts";

/** The response of the introspection endpoint (RFC 7662 §2.2). */
export type Introspection = Readonly<Record<string, unknown>>;

const INACTIVE: Introspection = { active: false };

/** Whether a client may introspect a token: its own, or one of its account. */
function maySee({ clientId, own }: AuthenticatedClient, token: PresentedToken): boolean {
  const { accountId, clientId: issuedTo } = token.kind === "access" ? token.principal : token.grant;
  return issuedTo === clientId || (own !== undefined && own.connectionId === undefined && own.accountId === accountId);
}

function describe(issuer: string, token: PresentedToken): Introspection {
  if (token.kind === "refresh") {
    const { grant, scope, issuedAt, expiresAt } = token;
    return {
      active: true,
      ...{ iss: issuer, sub: grant.accountId, aud: grant.resource, client_id: grant.clientId },
      ...(grant.memberId !== undefined && { act: { sub: grant.memberId } }),
      ...{ scope, grant_id: grant.id, iat: issuedAt, exp: expiresAt },
    };
  }
  const { accountId, memberId, role, clientId, scopes, connectionId, grantId, tokenId, audience, issuedAt, expiresAt } =
    token.principal;
  return {
    active: true,
    token_type: "Bearer",
    ...{ iss: issuer, sub: accountId, aud: audience, client_id: clientId, scope: [...scopes].join(" ") },
    ...(role !== undefined && { act: { sub: memberId ?? clientId } }),
    ...(connectionId !== undefined && { mcp_server_id: connectionId }),
    ...(grantId !== undefined && { grant_id: grantId }),
    ...{ jti: tokenId, iat: issuedAt },
    ...(expiresAt !== undefined && { exp: expiresAt }),
  };
}

/**
 * Introspects a token for a client. An unknown, expired or foreign token is reported as inactive, so that probing
 * reveals nothing; public clients are rejected (RFC 7662 §4). oidc-provider rejects JWTs here, which the test "returns
 * the claims of an access token to the client that owns it" needs.
 */
export async function introspect(
  { issuer, recognize }: { readonly issuer: string; readonly recognize: RecognizeToken },
  { client, parameters }: ClientRequest,
): Promise<Introspection> {
  if (client.isPublic) throw invalidClient(issuer, "Introspection requires client authentication.");
  const text = parameters.get("token");
  if (text === undefined) throw invalidRequest("The parameter token is missing.");
  const token = await recognize(text);
  return token !== undefined && maySee(client, token) ? describe(issuer, token) : INACTIVE;
}
