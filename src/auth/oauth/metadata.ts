import { SCOPES } from "../scopes.ts";

/** The path of the token endpoint, exactly. */
export const TOKEN_PATH = "/oauth2/token";

/** The path of the public keys, exactly. */
export const KEYS_PATH = "/.well-known/jwks.json";

/** The path of the authorization server's metadata, exactly. */
export const METADATA_PATH = "/.well-known/oauth-authorization-server";

/** RFC 8414 metadata: what this server does, and nothing that the library could do besides. */
export function authorizationServerMetadata(issuer: string): Readonly<Record<string, unknown>> {
  return {
    issuer,
    token_endpoint: issuer + TOKEN_PATH,
    jwks_uri: issuer + KEYS_PATH,
    scopes_supported: SCOPES,
    response_types_supported: [],
    grant_types_supported: ["client_credentials"],
    token_endpoint_auth_methods_supported: ["client_secret_basic"],
  };
}
