import type { Integration } from "./integration.ts";

/** A way to authenticate to an upstream. */
export type AuthMethod = "none" | "api_key" | "oauth2";

/** Whether an integration requires its credential. */
export function requiresCredential(integration: Integration): boolean {
  const { required } = integration.configurationSchema;
  return (
    integration.credentialProperty !== undefined &&
    Array.isArray(required) &&
    required.includes(integration.credentialProperty)
  );
}

/** Returns the ways to authenticate that an integration supports. */
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
