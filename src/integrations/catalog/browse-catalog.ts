import { DomainError } from "../../domain-error.ts";
import { unknownServerType } from "./load-catalog.ts";
import type { Catalog, Integration } from "../integration.ts";

/** Every integration, by `server_type`. */
export function listIntegrations(catalog: Catalog): readonly Integration[] {
  return [...catalog.values()].sort((a, b) => (a.serverType < b.serverType ? -1 : 1));
}

/** One integration, or throws `not_found` naming the nearest one. */
export function getIntegration(catalog: Catalog, serverType: string): Integration {
  const integration = catalog.get(serverType);
  if (integration !== undefined) return integration;
  throw new DomainError("not_found", unknownServerType(serverType, catalog).message);
}
