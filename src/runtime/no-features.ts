import { DomainError } from "../domain-error.ts";
import type { UpstreamFeatures } from "./upstream-features.ts";

/** Features where no integration offers any beyond tools: nothing is advertised, so nothing is asked for. */
export const NO_FEATURES: UpstreamFeatures = {
  capabilities: () => ({}),
  listResources: nobodyOffers,
  listResourceTemplates: nobodyOffers,
  readResource: nobodyOffers,
  listPrompts: nobodyOffers,
  getPrompt: nobodyOffers,
  complete: nobodyOffers,
  checkSubscription: nobodyOffers,
  follow: () => () => {},
};

async function nobodyOffers(): Promise<never> {
  throw new DomainError("not_found", "No connection offers this.");
}
