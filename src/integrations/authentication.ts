import type { Integration } from "./integration.ts";

/** A way to authenticate to an upstream. */
export type AuthMethod = "none" | "api_key" | "oauth2";

/** Whether an integration requires a credential. */
export function requiresCredential(integration: Integration): boolean {
  const { required } = integration.configurationSchema;
  return (
    integration.credentialProperty !== undefined &&
    Array.isArray(required) &&
    required.includes(integration.credentialProperty)
  );
}

/** The supported ways to authenticate of an integration. */
export function authMethodsOf(integration: Integration): readonly AuthMethod[] {
  const configured: readonly AuthMethod[] =
    integration.credentialProperty === undefined
      ? ["none"]
      : requiresCredential(integration)
        ? ["api_key"]
        : ["none", "api_key"];
  const hasOAuth = integration.authorization !== undefined || integration.clientAuthorization !== undefined;
  return hasOAuth ? [...configured, "oauth2"] : configured;
}
