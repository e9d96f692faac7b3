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
