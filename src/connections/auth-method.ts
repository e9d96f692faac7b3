import { invalid } from "../domain-error.ts";
import { type AuthMethod, authMethodsOf, requiresCredential } from "../integrations/authentication.ts";
import type { AuthorizedBy } from "../integrations/target.ts";
import type { Integration } from "../integrations/integration.ts";

/**
 * Chooses how calls of a new connection are authorized. Without a request it is the remaining method. Throws
 * `invalid`.
 */
export function chooseAuthMethod(
  integration: Integration,
  word: string | undefined,
  hasCredential: boolean,
): AuthorizedBy {
  const possible = authMethodsOf(integration);
  if (word === undefined) return possible.every((method) => method === "oauth2") ? "oauth2" : "configured";
  const method = possible.find((each) => each === word);
  if (method === undefined) throw invalid("auth_method", refusal(integration, possible, word));
  const property = integration.credentialProperty ?? "credential";
  if (method === "api_key" && !hasCredential && !requiresCredential(integration))
    throw invalid("auth_method", `auth_method api_key needs configuration.${property}.`);
  if (method !== "api_key" && hasCredential)
    throw invalid("auth_method", `auth_method ${method} takes no key: leave configuration.${property} out.`);
  return method === "oauth2" ? "oauth2" : "configured";
}

function refusal({ serverType, lacksClient }: Integration, possible: readonly AuthMethod[], word: string): string {
  if (word === "oauth2") {
    const start = `auth_method: connections of type ${serverType} cannot be authorized by OAuth here; possible is ${inWords(possible)}.`;
    return lacksClient === true
      ? `${start} The operator can enable it with a client in INTEGRATION_OAUTH_CLIENTS.`
      : start;
  }
  return `auth_method for ${serverType} must be ${inWords(possible)}.`;
}

function inWords(methods: readonly AuthMethod[]): string {
  return methods.join(", ").replace(/, (\w+)$/, " or $1");
}
