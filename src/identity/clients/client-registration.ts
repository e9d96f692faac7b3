import { invalid } from "../../domain-error.ts";
import { isJsonObject, type JsonObject } from "../../json.ts";
import { isLongerThan } from "../../text-length.ts";
import { CLIENT_AUTH_METHODS, type ClientAuthMethod } from "./oauth-client.ts";
import { type ClientRegistration, GRANT_TYPES, type GrantType } from "./oauth-client.ts";
import { checkRedirectUris } from "./redirect-uri.ts";

export interface ClientDraft {
  readonly name?: string | undefined;
  readonly redirectUris: readonly string[];
  /** Empty means the code flow if there are redirect URIs, client credentials otherwise. */
  readonly grantTypes: readonly string[];
  readonly tokenEndpointAuthMethod?: string | undefined;
  readonly jwks?: JsonObject | undefined;
  readonly jwksUri?: string | undefined;
}

const MAX_NAME = 255;
const MAX_KEYS = 10;
const MAX_ADDRESS = 2_000;
const MAX_JWKS_CHARACTERS = 16_384;

/** Private members of a JWK (RFC 7518 §6). */
const PRIVATE_MEMBERS = ["d", "p", "q", "dp", "dq", "qi", "oth", "k"];

/** Throws `invalid` for more than 255 characters or control characters. An empty name is allowed. */
export function checkClientName(name: string): string {
  if (isLongerThan(name, MAX_NAME)) throw invalid("name", `name must have at most ${MAX_NAME} characters.`);
  if (/\p{Cc}/u.test(name)) throw invalid("name", "name must not contain control characters.");
  return name;
}

/** Checks a draft by RFC 7591. Throws `invalid` naming the field. */
export function checkClientDraft(draft: ClientDraft): Omit<ClientRegistration, "scopes"> {
  const redirectUris = checkRedirectUris(draft.redirectUris);
  const tokenEndpointAuthMethod = parseAuthMethod(draft.tokenEndpointAuthMethod ?? "client_secret_basic");
  const grantTypes = parseGrantTypes(draft.grantTypes, redirectUris.length > 0);
  checkTogether(redirectUris, grantTypes, tokenEndpointAuthMethod);
  return {
    name: checkClientName(draft.name ?? ""),
    redirectUris,
    grantTypes,
    tokenEndpointAuthMethod,
    ...checkKeys(draft, tokenEndpointAuthMethod),
  };
}

function parseAuthMethod(text: string): ClientAuthMethod {
  const method = CLIENT_AUTH_METHODS.find((known) => known === text);
  if (method !== undefined) return method;
  throw invalid(
    "token_endpoint_auth_method",
    `token_endpoint_auth_method must be one of ${CLIENT_AUTH_METHODS.join(", ")}.`,
  );
}

function parseGrantTypes(words: readonly string[], hasRedirects: boolean): readonly GrantType[] {
  if (words.length === 0) return hasRedirects ? ["authorization_code", "refresh_token"] : ["client_credentials"];
  const unknown = words.find((word) => !GRANT_TYPES.some((known) => known === word));
  if (unknown !== undefined) throw invalid("grant_types", `grant_types must be any of ${GRANT_TYPES.join(", ")}.`);
  return GRANT_TYPES.filter((known) => words.includes(known));
}

/** Checks that redirect URIs, grant types and authentication method are compatible. Throws `invalid`. */
export function checkTogether(
  redirectUris: readonly string[],
  grantTypes: readonly GrantType[],
  method: ClientAuthMethod,
): void {
  const usesCode = grantTypes.includes("authorization_code");
  if (usesCode !== redirectUris.length > 0) {
    throw invalid(
      "redirect_uris",
      usesCode
        ? "redirect_uris must have an entry for the grant type authorization_code."
        : "redirect_uris are allowed only with the grant type authorization_code.",
    );
  }
  if (grantTypes.includes("refresh_token") && !usesCode)
    throw invalid("grant_types", "grant_types: refresh_token needs authorization_code.");
  if (method === "none" && grantTypes.includes("client_credentials"))
    throw invalid("grant_types", "grant_types: client_credentials needs a client that authenticates.");
}

function checkKeys(
  { jwks, jwksUri }: ClientDraft,
  method: ClientAuthMethod,
): Pick<ClientRegistration, "jwks" | "jwksUri"> {
  if (method !== "private_key_jwt") {
    const given = jwks === undefined ? jwksUri && "jwks_uri" : "jwks";
    if (given) throw invalid(given, `${given} is allowed only with token_endpoint_auth_method private_key_jwt.`);
    return { jwks: undefined, jwksUri: undefined };
  }
  if ((jwks === undefined) === (jwksUri === undefined))
    throw invalid("jwks", "private_key_jwt needs either jwks or jwks_uri.");
  if (jwksUri !== undefined) {
    const isAddress = jwksUri.length <= MAX_ADDRESS && URL.canParse(jwksUri) && new URL(jwksUri).protocol === "https:";
    if (!isAddress)
      throw invalid("jwks_uri", `jwks_uri must be an https address of at most ${MAX_ADDRESS} characters.`);
  }
  if (jwks !== undefined) checkJwks(jwks);
  return { jwks, jwksUri };
}

function checkJwks(jwks: JsonObject): void {
  const keys = jwks["keys"];
  const isSet = Array.isArray(keys) && keys.length >= 1 && keys.length <= MAX_KEYS && keys.every(isJsonObject);
  if (!isSet || JSON.stringify(jwks).length > MAX_JWKS_CHARACTERS)
    throw invalid("jwks", `jwks must be a JWK set of 1 to ${MAX_KEYS} public keys, as {"keys": [...]}.`);
  for (const key of keys) {
    if (PRIVATE_MEMBERS.some((member) => Object.hasOwn(key, member)))
      throw invalid("jwks", "jwks must contain public keys only. Replace this key pair: its private key was sent.");
    if (key["kty"] !== "EC" && key["kty"] !== "RSA" && key["kty"] !== "OKP")
      throw invalid("jwks", "jwks must contain keys of type EC, RSA or OKP.");
  }
}
