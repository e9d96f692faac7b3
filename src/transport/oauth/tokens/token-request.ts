import type { TokenClient } from "../../../identity/clients/clients.ts";
import { isScope, satisfies, SCOPES, type Scope } from "../../../identity/scopes.ts";
import type { ClientRequest } from "../clients/client-request.ts";
import type { TokenContext } from "../provider/request-context.ts";
import { invalidRequest, OAuthError } from "../oauth-error.ts";
import { parseResource, resourceRule } from "../resource.ts";

/** A checked request for the provider, and its context. */
export interface CheckedTokenRequest {
  readonly form: URLSearchParams;
  readonly context: TokenContext;
}

/** The parameters of each grant type besides `grant_type` and `resource`. */
const PARAMETERS = {
  authorization_code: ["code", "redirect_uri", "code_verifier"],
  refresh_token: ["refresh_token"],
  client_credentials: [],
} as const;

function isGrantType(word: string): word is keyof typeof PARAMETERS {
  return Object.hasOwn(PARAMETERS, word);
}

function grantedScopes(client: TokenClient, scope: string | undefined): readonly Scope[] {
  const words = [...new Set((scope ?? "").split(" "))].filter((word) => word !== "");
  if (words.length === 0) return SCOPES.filter((candidate) => client.scopes.includes(candidate));
  const granted = new Set<string>(client.scopes);
  return words.map((word) => {
    if (isScope(word) && satisfies(granted, [word])) return word;
    const shown = JSON.stringify(word.slice(0, 64));
    throw new OAuthError(400, "invalid_scope", `The client may not have the scope ${shown}.`);
  });
}

function audienceOf(issuer: string, resource: string | undefined, bound: number | undefined): string {
  if (resource === undefined) return issuer;
  const parsed = parseResource(issuer, resource);
  const isOwn = bound === undefined || parsed?.connectionId === undefined || parsed.connectionId === bound;
  if (parsed !== undefined && isOwn) return parsed.audience;
  throw new OAuthError(400, "invalid_target", resourceRule(issuer));
}

/** Checks a token request against the client's access. Fails with an error of RFC 6749 or RFC 8707. */
export function checkTokenRequest(issuer: string, { client, parameters }: ClientRequest): CheckedTokenRequest {
  const grantType = parameters.get("grant_type");
  if (grantType === undefined) throw invalidRequest("The parameter grant_type is missing.");
  if (!isGrantType(grantType)) {
    const offered = Object.keys(PARAMETERS).join(", ");
    throw new OAuthError(400, "unsupported_grant_type", `grant_type must be one of ${offered}.`);
  }
  const { metadata, own } = client;
  if (metadata.grant_types?.includes(grantType) !== true) {
    throw new OAuthError(400, "unauthorized_client", `The client may not use the grant type ${grantType}.`);
  }
  const form = new URLSearchParams({ grant_type: grantType });
  for (const name of PARAMETERS[grantType]) {
    const value = parameters.get(name);
    if (value !== undefined) form.set(name, value);
  }
  const [scope, resource] = [parameters.get("scope"), parameters.get("resource")];
  if (grantType === "client_credentials") {
    if (own === undefined || client.isPublic)
      throw invalidRequest("Client credentials require a client of an account.");
    const request = { scopes: grantedScopes(own, scope), audience: audienceOf(issuer, resource, own.connectionId) };
    form.set("scope", request.scopes.join(" "));
    form.set("resource", request.audience);
    return { form, context: { kind: "token", client: { metadata, own }, request, grant: undefined } };
  }
  const narrower = withoutOfflineAccess(scope ?? "");
  if (grantType === "refresh_token" && narrower !== "") form.set("scope", narrower);
  if (resource !== undefined) form.set("resource", audienceOf(issuer, resource, undefined));
  return { form, context: { kind: "token", client: { metadata, own }, request: undefined, grant: undefined } };
}

/** Removes `offline_access`: every grant includes refresh tokens, and it is not a scope of ours. */
export function withoutOfflineAccess(scope: string): string {
  const words = new Set(scope.split(" "));
  words.delete("offline_access");
  words.delete("");
  return [...words].join(" ");
}
