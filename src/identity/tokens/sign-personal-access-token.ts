import { importJWK, SignJWT } from "jose";
import type { PersonalAccessToken } from "./personal-access-token.ts";
import type { SigningKeys } from "../keys/signing-keys.ts";

/** Signs the claims of SPEC «Personal access token». `issuer` is `PUBLIC_URL` and also the audience. */
export async function signPersonalAccessToken(
  token: PersonalAccessToken,
  { keys, issuer }: { readonly keys: Pick<SigningKeys, "current">; readonly issuer: string },
): Promise<string> {
  const key = keys.current("personal_access_token");
  const claims = {
    scopes: token.scopes,
    scope: token.scopes.join(" "),
    client_id: token.clientId,
    token_use: "access",
    token_type: "pat",
    ...(token.memberId === undefined ? {} : { act: { sub: token.memberId } }),
    ...(token.connectionId === undefined ? {} : { mcp_server_id: token.connectionId }),
  };
  const jwt = new SignJWT(claims)
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt", kid: key.id })
    .setIssuer(issuer)
    .setAudience(issuer)
    .setSubject(token.accountId)
    .setJti(token.id)
    .setIssuedAt(token.createdAt);
  if (token.expiresAt !== undefined) jwt.setExpirationTime(token.expiresAt);
  return jwt.sign(await importJWK(key.privateJwk, "ES256"));
}
