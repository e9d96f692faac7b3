import { isJsonObject, type JsonObject, type JsonValue } from "../../../json.ts";
import { arrayOf, followReference, objectOf, OpenApiError, stringOf, type OpenApiDocument } from "../model/document.ts";
import type { CredentialPlan, OAuthScheme, ServerPlan } from "../model/operation.ts";
import { serverOf } from "../requests/server-plan.ts";

/**
 * Returns the credentials of the first security requirement whose schemes are all supported. A scheme's
 * `x-patchbay-credential` has templates over the configuration: `{username, password}` for HTTP Basic, `{value}` for
 * an API key, `{token}` for bearer and OAuth 2. Without it the integration's credential is sent. An OAuth 2 scheme
 * with `client_id` uses the client credentials flow: `{client_id, client_secret, scope, authentication}`; the secret
 * defaults to the integration's credential, `authentication` to `basic`. Throws OpenApiError when the flow is
 * missing.
 */
export function credentialsOf(
  document: OpenApiDocument,
  operation: JsonObject,
  credentialProperty: string | undefined,
): readonly CredentialPlan[] {
  const schemes = objectOf(objectOf(document.root.components).securitySchemes);
  const requirements = arrayOf(operation.security ?? document.root.security);
  for (const requirement of requirements) {
    // An empty requirement makes the credential optional; a later one may be better.
    if (!isJsonObject(requirement) || Object.keys(requirement).length === 0) continue;
    const plans = Object.keys(requirement).map((name) =>
      credentialOf(followReference(document, schemes[name]), credentialProperty, document),
    );
    if (plans.every((plan) => plan !== undefined)) return plans;
  }
  return [];
}

/** Returns the scheme names of each requirement; undefined when none is stated. */
export function requirementsOf(
  document: OpenApiDocument,
  operation: JsonObject,
): readonly (readonly string[])[] | undefined {
  const stated = operation.security ?? document.root.security;
  return stated === undefined ? undefined : arrayOf(stated).map((requirement) => Object.keys(objectOf(requirement)));
}

/** Returns the credentials of every supported security scheme by name. */
export function schemesOf(
  document: OpenApiDocument,
  credentialProperty: string,
): readonly (readonly [name: string, plan: CredentialPlan])[] {
  const schemes = objectOf(objectOf(document.root.components).securitySchemes);
  return Object.entries(schemes).flatMap(([name, scheme]) => {
    // `x-patchbay-credential` of an untrusted document is ignored: only the key is sent.
    const { "x-patchbay-credential": _, ...stated } = followReference(document, scheme);
    const plan = credentialOf(stated, credentialProperty, document);
    return plan === undefined ? [] : [[name, plan] as const];
  });
}

function credentialOf(
  scheme: JsonObject,
  credentialProperty: string | undefined,
  document: OpenApiDocument,
): CredentialPlan | undefined {
  const sent = objectOf(scheme["x-patchbay-credential"]);
  const credential = credentialProperty === undefined ? undefined : `{${credentialProperty}}`;
  const or = (value: JsonValue | undefined): string | undefined => stringOf(value) ?? credential;
  switch (scheme.type) {
    case "apiKey": {
      const value = or(sent.value);
      const place = scheme.in;
      const name = stringOf(scheme.name);
      if (value === undefined || name === undefined) return undefined;
      return place === "header" || place === "query" || place === "cookie" ? { kind: place, name, value } : undefined;
    }
    case "http": {
      const word = stringOf(scheme.scheme)?.toLowerCase();
      if (word === "bearer") return bearer(or(sent.token));
      if (word !== "basic") return undefined;
      const username = or(sent.username);
      return username === undefined ? undefined : { kind: "basic", username, password: stringOf(sent.password) ?? "" };
    }
    case "oauth2":
    case "openIdConnect": {
      const tokenUrl = stringOf(objectOf(objectOf(scheme.flows).clientCredentials).tokenUrl);
      const clientId = stringOf(sent.client_id);
      if (clientId === undefined) return bearer(or(sent.token), { tokenUrl });
      const clientSecret = or(sent.client_secret);
      if (tokenUrl === undefined || clientSecret === undefined)
        throw new OpenApiError('has a "client_id" in a scheme without a client credentials flow or a secret');
      return {
        kind: "client_credentials",
        server: tokenServer(document, tokenUrl),
        clientId,
        clientSecret,
        scope: stringOf(sent.scope),
        authentication: sent.authentication === "post" ? "post" : "basic",
      };
    }
    default:
      return undefined;
  }
}

/** Variables use the defaults of the document's server. */
function tokenServer({ root }: OpenApiDocument, url: string): ServerPlan {
  return { url, defaults: serverOf(root.servers).defaults };
}

function bearer(token: string | undefined, oauth?: OAuthScheme): CredentialPlan | undefined {
  if (token === undefined) return undefined;
  return { kind: "bearer", token, ...(oauth === undefined ? {} : { oauth }) };
}
