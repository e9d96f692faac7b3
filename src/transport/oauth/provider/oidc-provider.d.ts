// The package's main file prints a warning on Node releases without an LTS name. The files it re-exports do not.
declare module "oidc-provider/lib/provider.js" {
  export { Provider } from "oidc-provider";
}

declare module "oidc-provider/lib/helpers/errors.js" {
  import { errors } from "oidc-provider";
  export import AccessDenied = errors.AccessDenied;
  export import InvalidClientAuth = errors.InvalidClientAuth;
  export import InvalidGrant = errors.InvalidGrant;
  export import InvalidScope = errors.InvalidScope;
  export import InvalidTarget = errors.InvalidTarget;
}

declare module "oidc-provider/lib/helpers/interaction_policy/index.js" {
  import { interactionPolicy } from "oidc-provider";
  export import Check = interactionPolicy.Check;
  export import Prompt = interactionPolicy.Prompt;
}
