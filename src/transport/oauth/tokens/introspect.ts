import type { AuthenticatedClient } from "../clients/client-authentication.ts";
import type { ClientRequest } from "../clients/client-request.ts";
import { invalidClient, invalidRequest } from "../oauth-error.ts";
import type { PresentedToken, RecogniseToken } from "./presented-token.ts";

/** The answer of the introspection endpoint (RFC 7662 §2.2). */
export type Introspection = Readonly<Record<string, unknown>>;

const INACTIVE: Introspection = { active: false };

/** Whether a client may be told of a token: its own, or one of the account that the client belongs to. */
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
      ...{ scope, grant_id: grant.id, iat: issuedAt, exp: expiresAt },
    };
  }
  const { accountId, clientId, scopes, connectionId, grantId, tokenId, audience, issuedAt, expiresAt } =
    token.principal;
  return {
    active: true,
    token_type: "Bearer",
    ...{ iss: issuer, sub: accountId, aud: audience, client_id: clientId, scope: [...scopes].join(" ") },
    ...(connectionId !== undefined && { mcp_server_id: connectionId }),
    ...(grantId !== undefined && { grant_id: grantId }),
    ...{ jti: tokenId, iat: issuedAt },
    ...(expiresAt !== undefined && { exp: expiresAt }),
  };
}

/**
 * What a client may know of a token. One that is not ours, has ended, or is none of the client's business is just not
 * active, so that nobody finds out about tokens by asking; a public client may not ask at all (RFC 7662 §4).
 *
 * oidc-provider rejects JWTs here, which the test "tells a client of its access token what stands in it" needs.
 */
export async function introspect(
  { issuer, recognise }: { readonly issuer: string; readonly recognise: RecogniseToken },
  { client, parameters }: ClientRequest,
): Promise<Introspection> {
  if (client.isPublic) throw invalidClient(issuer, "Tokens are looked at for clients that authenticate.");
  const text = parameters.get("token");
  if (text === undefined) throw invalidRequest("The parameter token is missing.");
  const token = await recognise(text);
  return token !== undefined && maySee(client, token) ? describe(issuer, token) : INACTIVE;
}
