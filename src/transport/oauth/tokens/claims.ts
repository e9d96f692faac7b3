import type { AccessToken, ClientCredentials, JWTStructured } from "oidc-provider";
import { InvalidGrant, InvalidScope } from "oidc-provider/lib/helpers/errors.js";
import { accessTokenId } from "../../../identity/token-id.ts";
import { isOrganizationId } from "../../../identity/organizations/organization.ts";
import type { TokenContext } from "../provider/request-context.ts";

/** The subject of a token, and the time that its revocation is compared with. */
function subjectOf({ client: { own }, request, grant }: TokenContext) {
  if (request === undefined) {
    if (grant === undefined) throw new InvalidGrant("there is no grant");
    const actor = grant.memberId ?? grant.clientId;
    return { accountId: grant.accountId, actor, clientId: grant.clientId, moment: grant.issuedAt, grantId: grant.id };
  }
  if (own === undefined) throw new InvalidGrant("client credentials need a client of an account");
  const actor = own.memberId ?? own.clientId;
  return { accountId: own.accountId, actor, clientId: own.clientId, moment: own.issuedAt, grantId: undefined };
}

/** The claims of an access token (SPEC «Personal access token»; additions in DESIGN §6 «claims»). */
export function claimsOf(
  context: TokenContext,
  issuer: string,
  token: AccessToken | ClientCredentials,
  issued: JWTStructured["payload"],
): JWTStructured["payload"] {
  const { accountId, actor, clientId, moment, grantId } = subjectOf(context);
  const connectionId = context.client.own?.connectionId;
  const scopes = (token.scope ?? "").split(" ").filter((word) => word !== "");
  if (scopes.length === 0) throw new InvalidScope("the grant contains no valid scope", token.scope ?? "");
  return {
    iss: issuer,
    aud: token.aud,
    sub: accountId,
    ...(isOrganizationId(accountId) && { act: { sub: actor } }),
    client_id: clientId,
    scopes,
    scope: scopes.join(" "),
    token_use: "access",
    token_type: "oauth",
    ...(connectionId !== undefined && { mcp_server_id: connectionId }),
    ...(grantId !== undefined && { grant_id: grantId }),
    iat: issued.iat,
    exp: issued.exp,
    jti: accessTokenId(moment),
  };
}
