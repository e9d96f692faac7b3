import { DomainError } from "../../domain-error.ts";
import { unknownServerType } from "./load-catalog.ts";
import type { Catalog, Integration } from "../integration.ts";

export function listIntegrations(catalog: Catalog): readonly Integration[] {
  return [...catalog.values()].sort((a, b) => (a.serverType < b.serverType ? -1 : 1));
}

/** Throws DomainError `not_found` that suggests the nearest name. */
export function getIntegration(catalog: Catalog, serverType: string): Integration {
  const integration = catalog.get(serverType);
  if (integration !== undefined) return integration;
  throw new DomainError("not_found", unknownServerType(serverType, catalog).message);
}
