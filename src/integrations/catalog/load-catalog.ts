import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import type { Dispatcher } from "undici";
import { invalid, type DomainError } from "../../domain-error.ts";
import type { Catalog, Integration } from "../integration.ts";
import { nearestName } from "../nearest-name.ts";
import { readContract, type IntegrationContract } from "../openapi/contract.ts";
import type { ConfiguredClient } from "../oauth/resolve-client.ts";
import type { OwnerTokens } from "../openapi/requests/call-context.ts";
import { createOpenApiIntegration, type OpenApiIntegrationOptions } from "../openapi/openapi-integration.ts";

export interface CatalogOptions {
  /** Every `*.yaml` file in this folder is an integration. */
  readonly folder: string;
  readonly dispatcher: Dispatcher;
  /** `server_type` → address that replaces the contract's (`INTEGRATION_BASE_URLS`). */
  readonly baseUrls: ReadonlyMap<string, string>;
  /** `server_type` → client that the operator registered with the vendor (`INTEGRATION_OAUTH_CLIENTS`). */
  readonly oauthClients?: ReadonlyMap<string, ConfiguredClient>;
  /** Stores the tokens of owner logins; without it owners cannot log in. */
  readonly ownerTokens?: OwnerTokens | undefined;
  /** Integrations implemented in code, such as remote MCP servers. */
  readonly others: readonly Integration[];
}

/** Loads every integration. Throws an Error that names the file and its defect, so that the service does not start. */
export async function loadCatalog(options: CatalogOptions): Promise<Catalog> {
  const catalog = new Map<string, Integration>();
  for (const integration of options.others) {
    const { serverType } = integration;
    if (catalog.has(serverType)) throw new Error(`two integrations have the server_type "${serverType}"`);
    catalog.set(serverType, integration);
  }
  const files = (await readdir(options.folder)).filter((name) => name.endsWith(".yaml")).sort();
  for (const file of files) {
    const contract = await readContractFile(join(options.folder, file));
    const { serverType } = contract;
    if (catalog.has(serverType)) throw new Error(`${file}: the server_type "${serverType}" is taken already`);
    const baseUrl = options.baseUrls.get(serverType);
    const whom = clientOf(contract, options);
    const deps = { dispatcher: options.dispatcher, ...(baseUrl === undefined ? {} : { baseUrl }), ...whom };
    catalog.set(serverType, createOpenApiIntegration(contract, deps));
  }
  for (const [name, url] of options.baseUrls) {
    if (!catalog.has(name)) throw new Error(`INTEGRATION_BASE_URLS: ${unknownServerType(name, catalog).message}`);
    if (!/^https?:\/\//.test(url) || !URL.canParse(url))
      throw new Error(`INTEGRATION_BASE_URLS: the base address of ${name} must be a web address, not "${url}"`);
  }
  for (const name of options.oauthClients?.keys() ?? [])
    if (!catalog.has(name)) throw new Error(`INTEGRATION_OAUTH_CLIENTS: ${unknownServerType(name, catalog).message}`);
  return catalog;
}

/** Throws when the integration's contract does not support the configured client. */
function clientOf(
  { serverType, ownerScheme, clientScheme }: IntegrationContract,
  { oauthClients, ownerTokens: tokens }: CatalogOptions,
): Pick<OpenApiIntegrationOptions, "owner" | "client"> {
  const client = oauthClients?.get(serverType);
  if (client === undefined) return {};
  const { clientId, clientSecret } = client;
  if (clientScheme !== undefined && clientSecret !== undefined) return { client: { clientId, clientSecret } };
  if (ownerScheme === undefined)
    throw new Error(`INTEGRATION_OAUTH_CLIENTS: connections of type ${serverType} have no login by OAuth.`);
  return tokens === undefined ? {} : { owner: { client, tokens } };
}

async function readContractFile(path: string): Promise<IntegrationContract> {
  try {
    return readContract(await readFile(path, "utf8"));
  } catch (error) {
    throw new Error(`${path}: ${error instanceof Error ? error.message : String(error)}`, { cause: error });
  }
}

export function unknownServerType(wrong: string, catalog: Catalog): DomainError {
  const known = [...catalog.keys()].sort();
  const nearest = nearestName(wrong, known);
  const hint = nearest === undefined ? "" : `; did you mean "${nearest}"?`;
  const shown = wrong.replaceAll(/[^\x20-\x7e]/g, "?").slice(0, 64);
  return invalid(
    "server_type",
    `unknown server_type "${shown}"${hint === "" ? "." : hint} Known: ${known.join(", ")}.`,
  );
}
