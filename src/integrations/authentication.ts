import type { Integration } from "./integration.ts";

/** A way to authenticate to a third party. */
export type AuthMethod = "none" | "api_key" | "oauth2";

/** Whether an integration cannot work without its credential. */
export function requiresCredential(integration: Integration): boolean {
  const { required } = integration.configurationSchema;
  return (
    integration.credentialProperty !== undefined &&
    Array.isArray(required) &&
    required.includes(integration.credentialProperty)
  );
}

/** The ways to authenticate that an integration leaves open. */
export function authMethodsOf(integration: Integration): readonly AuthMethod[] {
  if (integration.credentialProperty === undefined) return ["none"];
  return requiresCredential(integration) ? ["api_key"] : ["none", "api_key"];
}
