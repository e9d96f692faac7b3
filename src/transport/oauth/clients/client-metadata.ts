import type { AllClientMetadata } from "oidc-provider";
import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import type { TokenClient } from "../../../identity/clients/clients.ts";
import { CLIENT_AUTH_METHODS, type ClientAuthMethod } from "../../../identity/clients/oauth-client.ts";
import { SCOPES } from "../../../identity/scopes.ts";
import { redirectKind } from "../../../identity/clients/client-redirect-uri.ts";

/** Signature algorithms accepted from clients: asymmetric and not weak. */
export const CLIENT_SIGNING_ALGORITHMS = ["ES256", "ES384", "EdDSA", "PS256", "RS256"] as const;

/** An internal grant type that makes the provider only authenticate a client. Requests must not contain it. */
export const AUTHENTICATION_GRANT = "urn:patchbay:client-authentication";

/** The scopes that a registered or published client may request: no administration. */
export const PUBLISHED_CLIENT_SCOPES = SCOPES.filter((scope) => scope !== "mgmt.admin");

/** The supported metadata of a client, from its document or its registration. Other fields are dropped. */
export interface PublishedMetadata {
  readonly clientName: string | undefined;
  readonly redirectUris: readonly string[];
  readonly tokenEndpointAuthMethod: ClientAuthMethod;
  readonly jwks: JsonObject | undefined;
  readonly jwksUri: string | undefined;
}

/** An error in a client's metadata, with a code of RFC 7591 §3.2.2. The message is public. */
export class ClientMetadataFault extends Error {
  readonly code: "invalid_redirect_uri" | "invalid_client_metadata";
  constructor(code: ClientMetadataFault["code"], message: string) {
    super(message);
    this.name = "ClientMetadataFault";
    this.code = code;
  }
}

const MAX_REDIRECTS = 20;
const MAX_NAME = 100;
const MAX_KEYS = 20;

function fault(message: string): ClientMetadataFault {
  return new ClientMetadataFault("invalid_client_metadata", message);
}

function isText(value: JsonValue | undefined): value is string {
  return typeof value === "string";
}

/**
 * Throws unless every value of a list is supported. An absent list means the default of RFC 7591, which is supported.
 */
function checkOffered(metadata: JsonObject, name: string, offered: readonly string[]): void {
  const value = metadata[name];
  if (value === undefined) return;
  const isOffered =
    Array.isArray(value) && value.length > 0 && value.every((item) => isText(item) && offered.includes(item));
  if (!isOffered) throw fault(`${name} may hold ${offered.join(" and ")} alone.`);
}

function parseRedirects(value: JsonValue | undefined): readonly string[] {
  if (!Array.isArray(value) || value.length === 0 || value.length > MAX_REDIRECTS || !value.every(isText)) {
    throw new ClientMetadataFault("invalid_redirect_uri", `redirect_uris holds 1 to ${MAX_REDIRECTS} addresses.`);
  }
  const wrong = value.find((uri) => redirectKind(uri) === undefined);
  if (wrong === undefined) return value;
  const rule = "allowed are https, http on the local machine, or an application's own scheme; without a fragment";
  throw new ClientMetadataFault("invalid_redirect_uri", `${JSON.stringify(wrong.slice(0, 128))} is refused: ${rule}.`);
}

/** Returns a name that is safe to show: one line, without characters that reorder or hide text. */
export function displayName(value: JsonValue | undefined): string | undefined {
  if (!isText(value)) return undefined;
  const name = value
    .replaceAll(/[\p{C}\p{Zl}\p{Zp}]+/gu, " ")
    .replaceAll(/\s+/g, " ")
    .trim();
  return name === "" ? undefined : name.slice(0, MAX_NAME).toWellFormed();
}

function parseKeys(metadata: JsonObject): Pick<PublishedMetadata, "jwks" | "jwksUri"> {
  const { jwks, jwks_uri: jwksUri } = metadata;
  if ((jwks === undefined) === (jwksUri === undefined))
    throw fault("private_key_jwt needs jwks or jwks_uri, not both.");
  if (jwksUri !== undefined) {
    if (!isText(jwksUri) || URL.parse(jwksUri)?.protocol !== "https:")
      throw fault("jwks_uri must be an https address.");
    return { jwks: undefined, jwksUri };
  }
  const keys = publicKeys(jwks);
  if (keys.length === 0 || keys.length > MAX_KEYS)
    throw fault(`jwks holds 1 to ${MAX_KEYS} public keys, EC, OKP or RSA.`);
  return { jwks: { keys }, jwksUri: undefined };
}

const KEY_MEMBERS = ["kty", "kid", "alg", "use", "crv", "x", "y", "n", "e"];

/** Returns the public members of the keys, so that a private key published by mistake is not stored. */
function publicKeys(jwks: JsonValue | undefined): JsonObject[] {
  const keys = isJsonObject(jwks) && Array.isArray(jwks["keys"]) ? jwks["keys"] : [];
  return keys.filter(isJsonObject).flatMap((key) => {
    const members = Object.entries(key).filter(([name, value]) => KEY_MEMBERS.includes(name) && isText(value));
    return isText(key["kty"]) && ["EC", "OKP", "RSA"].includes(key["kty"]) ? [Object.fromEntries(members)] : [];
  });
}

/**
 * Parses the metadata of a registration. Unsupported values are rejected, so that the client learns of them at once.
 */
export function parseRegistration(metadata: JsonObject): PublishedMetadata {
  checkOffered(metadata, "grant_types", ["authorization_code", "refresh_token"]);
  checkOffered(metadata, "response_types", ["code"]);
  const redirectUris = parseRedirects(metadata["redirect_uris"]);
  // The default of RFC 7591 §2. A secret is accepted only in the header; the response states this (§3.2.1).
  const asked = metadata["token_endpoint_auth_method"] ?? "client_secret_basic";
  const wanted = asked === "client_secret_post" ? "client_secret_basic" : asked;
  return { ...parseCommon(metadata, wanted, CLIENT_AUTH_METHODS), redirectUris };
}

/**
 * Parses a client's metadata document. Unsupported values are ignored, because the document is written for all servers.
 * It has no secret, because it is public.
 */
export function parseDocument(metadata: JsonObject): PublishedMetadata {
  const { redirect_uris: uris } = metadata;
  const usable = Array.isArray(uris) ? uris.filter((uri) => isText(uri) && redirectKind(uri) !== undefined) : uris;
  return {
    ...parseCommon(metadata, metadata["token_endpoint_auth_method"] ?? "none", ["none", "private_key_jwt"]),
    redirectUris: parseRedirects(usable),
  };
}

function parseCommon(
  metadata: JsonObject,
  wanted: JsonValue,
  offered: readonly ClientAuthMethod[],
): Omit<PublishedMetadata, "redirectUris"> {
  const tokenEndpointAuthMethod = offered.find((method) => method === wanted);
  if (tokenEndpointAuthMethod === undefined) {
    throw fault(`token_endpoint_auth_method must be one of ${offered.join(", ")}.`);
  }
  const isSigning = tokenEndpointAuthMethod === "private_key_jwt";
  const keys = isSigning ? parseKeys(metadata) : { jwks: undefined, jwksUri: undefined };
  return { clientName: displayName(metadata["client_name"]), tokenEndpointAuthMethod, ...keys };
}

/**
 * Converts published metadata for the provider. A redirect to anything but a web site makes the client native (RFC
 * 8252).
 */
export function publishedToProvider(clientId: string, published: PublishedMetadata): AllClientMetadata {
  const { clientName, redirectUris, tokenEndpointAuthMethod, jwks, jwksUri } = published;
  return {
    client_id: clientId,
    ...(clientName !== undefined && { client_name: clientName }),
    redirect_uris: redirectUris,
    application_type: redirectUris.every((uri) => redirectKind(uri) === "web") ? "web" : "native",
    grant_types: ["authorization_code", "refresh_token", AUTHENTICATION_GRANT],
    response_types: ["code"],
    scope: PUBLISHED_CLIENT_SCOPES.join(" "),
    token_endpoint_auth_method: tokenEndpointAuthMethod,
    ...toKeyMetadata(jwks, jwksUri),
  };
}

/** Converts an account's client for the provider. */
export function ownToProvider(client: TokenClient): AllClientMetadata {
  const { redirectUris, grantTypes, scopes, tokenEndpointAuthMethod, jwks, jwksUri } = client;
  const hasCode = grantTypes.includes("authorization_code") && redirectUris.length > 0;
  return {
    client_id: client.clientId,
    ...(client.name !== "" && { client_name: client.name }),
    redirect_uris: hasCode ? redirectUris : [],
    application_type: redirectUris.every((uri) => redirectKind(uri) === "web") ? "web" : "native",
    grant_types: [...grantTypes, AUTHENTICATION_GRANT],
    response_types: hasCode ? ["code"] : [],
    scope: (scopes.includes("mgmt.admin") ? SCOPES : scopes).join(" "),
    token_endpoint_auth_method: tokenEndpointAuthMethod,
    ...toKeyMetadata(jwks, jwksUri),
  };
}

function toKeyMetadata(jwks: JsonObject | undefined, jwksUri: string | undefined): AllClientMetadata {
  return {
    ...(jwks !== undefined && { jwks: { keys: publicKeys(jwks).map(toJwk) } }),
    ...(jwksUri !== undefined && { jwks_uri: jwksUri }),
  };
}

function toJwk(key: JsonObject): NonNullable<AllClientMetadata["jwks"]>["keys"][number] {
  const text = (name: string): string => (isText(key[name]) ? key[name] : "");
  const named = Object.fromEntries(["kid", "alg", "use"].flatMap((name) => (name in key ? [[name, text(name)]] : [])));
  switch (key["kty"]) {
    case "EC":
      return { ...named, kty: "EC", crv: text("crv"), x: text("x"), y: text("y") };
    case "OKP":
      return { ...named, kty: "OKP", crv: text("crv"), x: text("x") };
    default:
      return { ...named, kty: "RSA", n: text("n"), e: text("e") };
  }
}
