import { isJsonObject, type JsonObject, type JsonValue } from "../../json.ts";
import { arrayOf, followReference, objectOf, textOf, type OpenApiDocument } from "./document.ts";
import type { CredentialPlan } from "./operation.ts";

/**
 * What to send so that the operation's security is met: the first of its requirements whose schemes are all known.
 *
 * A scheme's `x-patchbay-credential` says what is sent, as templates over the configuration: `{username, password}` for
 * HTTP Basic, `{value}` for an API key, `{token}` for bearer and OAuth 2. Without it the integration's credential is
 * sent: as the user name, the key or the token.
 */
export function credentialsOf(
  document: OpenApiDocument,
  operation: JsonObject,
  credentialProperty: string | undefined,
): readonly CredentialPlan[] {
  const schemes = objectOf(objectOf(document.root.components).securitySchemes);
  const requirements = arrayOf(operation.security ?? document.root.security);
  for (const requirement of requirements) {
    // An empty requirement means that the credential is optional: a better one may follow.
    if (!isJsonObject(requirement) || Object.keys(requirement).length === 0) continue;
    const plans = Object.keys(requirement).map((name) =>
      credentialOf(followReference(document, schemes[name]), credentialProperty),
    );
    if (plans.every((plan) => plan !== undefined)) return plans;
  }
  return [];
}

/** The names of the schemes in each security requirement; undefined where neither operation nor document states any. */
export function requirementsOf(
  document: OpenApiDocument,
  operation: JsonObject,
): readonly (readonly string[])[] | undefined {
  const stated = operation.security ?? document.root.security;
  return stated === undefined ? undefined : arrayOf(stated).map((requirement) => Object.keys(objectOf(requirement)));
}

/** Every security scheme of a document by its name, with what to send for it; those that cannot be met are left out. */
export function schemesOf(
  document: OpenApiDocument,
  credentialProperty: string,
): readonly (readonly [name: string, plan: CredentialPlan])[] {
  const schemes = objectOf(objectOf(document.root.components).securitySchemes);
  return Object.entries(schemes).flatMap(([name, scheme]) => {
    // What a stranger's document says is to be sent does not count: the key alone is.
    const { "x-patchbay-credential": _, ...stated } = followReference(document, scheme);
    const plan = credentialOf(stated, credentialProperty);
    return plan === undefined ? [] : [[name, plan] as const];
  });
}

function credentialOf(scheme: JsonObject, credentialProperty: string | undefined): CredentialPlan | undefined {
  const sent = objectOf(scheme["x-patchbay-credential"]);
  const credential = credentialProperty === undefined ? undefined : `{${credentialProperty}}`;
  const or = (value: JsonValue | undefined): string | undefined => textOf(value) ?? credential;
  switch (scheme.type) {
    case "apiKey": {
      const value = or(sent.value);
      const place = scheme.in;
      const name = textOf(scheme.name);
      if (value === undefined || name === undefined) return undefined;
      return place === "header" || place === "query" || place === "cookie" ? { kind: place, name, value } : undefined;
    }
    case "http": {
      const word = textOf(scheme.scheme)?.toLowerCase();
      if (word === "bearer") return bearer(or(sent.token));
      if (word !== "basic") return undefined;
      const username = or(sent.username);
      return username === undefined ? undefined : { kind: "basic", username, password: textOf(sent.password) ?? "" };
    }
    case "oauth2":
    case "openIdConnect":
      return bearer(or(sent.token));
    default:
      return undefined;
  }
}

function bearer(token: string | undefined): CredentialPlan | undefined {
  return token === undefined ? undefined : { kind: "bearer", token };
}
