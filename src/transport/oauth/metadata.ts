import { SCOPES } from "../../identity/scopes.ts";
import { CLIENT_SIGNING_ALGORITHMS } from "./clients/client-metadata.ts";

/** Path of the authorization endpoint. */
export const AUTHORIZE_PATH = "/oauth2/authorize";

/** Path to which the consent page submits; not part of the metadata. */
export const CONSENT_PATH = "/oauth2/consent";

/** Path of the token endpoint. */
export const TOKEN_PATH = "/oauth2/token";

/** Path of the revocation endpoint (RFC 7009). */
export const REVOKE_PATH = "/oauth2/revoke";

/** Path of the introspection endpoint (RFC 7662). */
export const INTROSPECT_PATH = "/oauth2/introspect";

/** Path of the registration endpoint (RFC 7591). */
export const REGISTER_PATH = "/oauth2/register";

/** Path of the public keys. */
export const KEYS_PATH = "/.well-known/jwks.json";

/** Path of the authorization server's metadata. */
export const METADATA_PATH = "/.well-known/oauth-authorization-server";

/** RFC 8414 metadata. Lists only what this server supports, not everything the library could do. */
export function authorizationServerMetadata(
  issuer: string,
  { hasRegistration }: { readonly hasRegistration: boolean },
): Readonly<Record<string, unknown>> {
  const signing = [...CLIENT_SIGNING_ALGORITHMS];
  return {
    issuer,
    authorization_endpoint: issuer + AUTHORIZE_PATH,
    token_endpoint: issuer + TOKEN_PATH,
    revocation_endpoint: issuer + REVOKE_PATH,
    introspection_endpoint: issuer + INTROSPECT_PATH,
    ...(hasRegistration && { registration_endpoint: issuer + REGISTER_PATH }),
    jwks_uri: issuer + KEYS_PATH,
    scopes_supported: SCOPES,
    response_types_supported: ["code"],
    response_modes_supported: ["query"],
    grant_types_supported: ["authorization_code", "refresh_token", "client_credentials"],
    code_challenge_methods_supported: ["S256"],
    token_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"],
    token_endpoint_auth_signing_alg_values_supported: signing,
    revocation_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt", "none"],
    revocation_endpoint_auth_signing_alg_values_supported: signing,
    introspection_endpoint_auth_methods_supported: ["client_secret_basic", "private_key_jwt"],
    introspection_endpoint_auth_signing_alg_values_supported: signing,
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${issuer}/docs`,
  };
}
