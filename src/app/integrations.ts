import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import type { Config } from "../config.ts";
import type { ChangeFeed } from "../connections/change-feed.ts";
import { loadCatalog } from "../integrations/catalog/load-catalog.ts";
import type { Catalog, Integration } from "../integrations/integration.ts";
import { createMcpIntegration } from "../integrations/mcp/mcp-integration.ts";
import { mcpAuthorization } from "../integrations/mcp/owner-authorization.ts";
import { createDocumentConverter } from "../integrations/openapi-document/converter.ts";
import { createDocuments } from "../integrations/openapi-document/documents.ts";
import { createOpenApiDocumentIntegration } from "../integrations/openapi-document/openapi-document-integration.ts";
import { allowEntryOf } from "../outbound/allow-list.ts";
import { checkDestination } from "../outbound/check-destination.ts";
import { createGuardedDispatcher } from "../outbound/guarded-dispatcher.ts";
import { createDocumentStore } from "../storage/stores/integrations/openapi-document.ts";
import { createUpstreamClientStore } from "../storage/stores/integrations/upstream-client.ts";
import type { Foundation } from "./foundation.ts";
import type { UpstreamTokens } from "./granted-tokens.ts";

export interface Integrations {
  readonly catalog: Catalog;
  /** Fetches the OpenAPI documents that are due and calls `onChanged` with the address of each changed one. */
  refreshDocuments(onChanged: (url: string) => Promise<void>): Promise<void>;
  /** Ends the sessions with all upstreams. */
  close(): void;
}

/**
 * Builds the integrations behind the outbound guard, except the `additional` ones. Throws an error naming an invalid
 * contract.
 */
export async function composeIntegrations(
  config: Config,
  { database: { orm }, sealer }: Pick<Foundation, "database" | "sealer">,
  feed: ChangeFeed,
  log: Logger,
  additional: readonly Integration[],
  tokensOfLogins: UpstreamTokens,
): Promise<Integrations> {
  // Streams of MCP servers stay open for days. Every reader has its own limit.
  const dispatcher = createGuardedDispatcher({ allow: config.outboundAllow, maxResponseBytes: -1 });
  const check = (url: string): string | undefined => checkDestination(url, config.outboundAllow);
  const { publicUrl } = config;
  const clients = createUpstreamClientStore({ orm, sealer });
  const authorization = mcpAuthorization({ dispatcher, checkDestination: check, publicUrl, clients });
  const mcp = createMcpIntegration({
    dispatcher,
    checkDestination: check,
    log,
    authorization,
    tokens: tokensOfLogins.through(dispatcher),
  });
  const store = createDocumentStore(orm);
  const documents = createDocuments({ store, dispatcher, converter: createDocumentConverter(), log });
  feed.onChange(({ event }) => {
    if (event === "tools") documents.forgetSources();
  });
  // An operator's override may name a private host. Only contracts use it, never a user's address.
  const contractDispatcher = createGuardedDispatcher({
    allow: [...config.outboundAllow, ...[...config.integrationBaseUrls.values()].map(allowEntryOf)],
  });
  const catalog = await loadCatalog({
    folder: fileURLToPath(new URL("../../openapi/integrations/", import.meta.url)),
    dispatcher: contractDispatcher,
    ownerTokens: tokensOfLogins.through(contractDispatcher),
    baseUrls: config.integrationBaseUrls,
    oauthClients: config.integrationOAuthClients,
    others: [
      mcp,
      createOpenApiDocumentIntegration({ documents, changes: store, dispatcher, checkDestination: check }),
      ...additional,
    ],
  });
  return {
    catalog,
    refreshDocuments: (onChanged) => documents.maintain(onChanged),
    close: () => {
      mcp.close();
    },
  };
}
