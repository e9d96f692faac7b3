import { createHash } from "node:crypto";
import type { AuthorizationProof, AuthorizationTerms } from "../authorization.ts";

/**
 * Builds the authorization URL: code flow with PKCE (RFC 7636, S256) and a resource indicator (RFC 8707) where there
 * is one.
 */
export function authorizationRequest(terms: AuthorizationTerms, proof: AuthorizationProof): URL {
  const { server, client, resource, scope, extra } = terms;
  // The endpoint's own query is kept (RFC 6749 §3.1).
  const address = new URL(server.authorizationEndpoint);
  const parameters = {
    ...extra,
    response_type: "code",
    client_id: client.clientId,
    redirect_uri: proof.redirectUri,
    state: proof.state,
    code_challenge: createHash("sha256").update(proof.codeVerifier).digest("base64url"),
    code_challenge_method: "S256",
    ...(scope !== undefined && { scope }),
    ...(resource !== undefined && { resource }),
  };
  for (const [name, value] of Object.entries(parameters)) address.searchParams.set(name, value);
  return address;
}
