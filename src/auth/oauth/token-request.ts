import type { TokenClient } from "../clients.ts";
import { isScope, satisfies, SCOPES, type Scope } from "../scopes.ts";
import { invalidRequest, OAuthError } from "./oauth-error.ts";

/** A token request that may be granted as it stands. */
export interface TokenRequest {
  readonly scopes: readonly Scope[];
  /** The `aud` of the token. */
  readonly audience: string;
}

function parseForm(form: string): ReadonlyMap<string, string> {
  const parameters = new Map<string, string>();
  for (const [name, value] of new URLSearchParams(form)) {
    if (parameters.has(name)) {
      if (name === "resource") throw new OAuthError(400, "invalid_target", "A token is for one resource.");
      throw invalidRequest(`The parameter ${JSON.stringify(name.slice(0, 64))} is given more than once.`);
    }
    parameters.set(name, value);
  }
  // RFC 6749 §3.2: a parameter without a value counts as omitted.
  for (const [name, value] of parameters) if (value === "") parameters.delete(name);
  return parameters;
}

function grantedScopes(client: TokenClient, scope: string | undefined): readonly Scope[] {
  const words = [...new Set((scope ?? "").split(" "))].filter((word) => word !== "");
  if (words.length === 0) return SCOPES.filter((candidate) => client.scopes.includes(candidate));
  const granted = new Set<string>(client.scopes);
  return words.map((word) => {
    if (isScope(word) && satisfies(granted, [word])) return word;
    throw new OAuthError(
      400,
      "invalid_scope",
      `The client may not have the scope ${JSON.stringify(word.slice(0, 64))}.`,
    );
  });
}

const CONNECTION_PATH = /^\/mcp\/([1-9][0-9]{0,9})$/;

function audienceOf(client: TokenClient, issuer: string, resource: string | undefined): string {
  if (resource === undefined || resource === issuer || resource === `${issuer}/`) return issuer;
  const path = resource.startsWith(issuer) ? resource.slice(issuer.length) : "";
  const connection = CONNECTION_PATH.exec(path)?.[1];
  const isOwn = client.connectionId === undefined || connection === String(client.connectionId);
  if (path === "/mcp" || (connection !== undefined && isOwn)) return resource;
  throw new OAuthError(400, "invalid_target", `The resource is ${issuer}, ${issuer}/mcp or ${issuer}/mcp/<server id>.`);
}

/** Checks a client-credentials form against what the client may have. Fails with an error of RFC 6749 or RFC 8707. */
export function parseTokenRequest(client: TokenClient, issuer: string, form: string): TokenRequest {
  const parameters = parseForm(form);
  const grantType = parameters.get("grant_type");
  if (grantType === undefined) throw invalidRequest("The parameter grant_type is missing.");
  if (grantType !== "client_credentials") {
    throw new OAuthError(400, "unsupported_grant_type", "The grant type is client_credentials.");
  }
  if (parameters.has("client_secret") || parameters.has("client_assertion")) {
    throw invalidRequest("The client authenticates with HTTP Basic alone.");
  }
  if ((parameters.get("client_id") ?? client.clientId) !== client.clientId) {
    throw invalidRequest("The parameter client_id is not the client that authenticates.");
  }
  return {
    scopes: grantedScopes(client, parameters.get("scope")),
    audience: audienceOf(client, issuer, parameters.get("resource")),
  };
}
