import { SCOPES } from "../../identity/scopes.ts";
import { CLIENT_SIGNING_ALGORITHMS } from "./clients/client-metadata.ts";

/** The path to which clients send people, exactly. */
export const AUTHORIZE_PATH = "/oauth2/authorize";

/** The path that takes a person's decision, exactly. Of our own page, so it is in no metadata. */
export const CONSENT_PATH = "/oauth2/consent";

/** The path of the token endpoint, exactly. */
export const TOKEN_PATH = "/oauth2/token";

/** The path of the revocation endpoint (RFC 7009), exactly. */
export const REVOKE_PATH = "/oauth2/revoke";

/** The path of the introspection endpoint (RFC 7662), exactly. */
export const INTROSPECT_PATH = "/oauth2/introspect";

/** The path where clients register themselves (RFC 7591), exactly. */
export const REGISTER_PATH = "/oauth2/register";

/** The path of the public keys, exactly. */
export const KEYS_PATH = "/.well-known/jwks.json";

/** The path of the authorization server's metadata, exactly. */
export const METADATA_PATH = "/.well-known/oauth-authorization-server";

/** RFC 8414 metadata: what this server does, and nothing that the library could do besides. */
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
