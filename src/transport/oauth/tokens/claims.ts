import type { AccessToken, ClientCredentials, JWTStructured } from "oidc-provider";
import { InvalidGrant, InvalidScope } from "oidc-provider/lib/helpers/errors.js";
import { accessTokenId } from "../../../identity/token-id.ts";
import type { TokenContext } from "../provider/request-context.ts";

/** Who a token is for, and when it counts as issued. */
function subjectOf({ client: { own }, request, grant }: TokenContext) {
  if (request === undefined) {
    if (grant === undefined) throw new InvalidGrant("no grant is under way");
    return { accountId: grant.accountId, clientId: grant.clientId, moment: grant.issuedAt, grantId: grant.id };
  }
  if (own === undefined) throw new InvalidGrant("client credentials are for clients of an account");
  return { accountId: own.accountId, clientId: own.clientId, moment: own.issuedAt, grantId: undefined };
}

/** The claims of an access token: SPEC «Personal access token» has the table, DESIGN §6 «claims» what is added. */
export function claimsOf(
  context: TokenContext,
  issuer: string,
  token: AccessToken | ClientCredentials,
  issued: JWTStructured["payload"],
): JWTStructured["payload"] {
  const { accountId, clientId, moment, grantId } = subjectOf(context);
  const connectionId = context.client.own?.connectionId;
  const scopes = (token.scope ?? "").split(" ").filter((word) => word !== "");
  if (scopes.length === 0) throw new InvalidScope("nothing of what was granted is left", token.scope ?? "");
  return {
    iss: issuer,
    aud: token.aud,
    sub: accountId,
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
