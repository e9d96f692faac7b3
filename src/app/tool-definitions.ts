import type { Orm } from "../storage/orm.ts";
import type { Logger } from "pino";
import type { ConnectionStore } from "../connections/connection-store.ts";
import type { ConnectionTools } from "../connections/connection-tools.ts";
import { createCurrentTools, type CurrentTools } from "../connections/definitions/current-tools.ts";
import { refreshConnections } from "../connections/definitions/refresh-connections.ts";
import { connectionsWithAcceptedDefinitions } from "../storage/stores/integrations/document-connections.ts";
import { createDefinitionStore } from "../storage/stores/tools/accepted-definitions.ts";
import type { WebhookOutbox } from "../storage/stores/webhooks/webhook-outbox.ts";
import { purgeDefinitions } from "../storage/stores/tools/definition-purge.ts";

const PURGE_MS = 3_600_000;

/** The current tool definitions and their maintenance. */
export interface ToolDefinitions {
  readonly currentTools: CurrentTools;
  /**
   * Lists the tools of all connections of a changed document one after the other, so that their owners are notified of
   * pending changes.
   */
  refreshAffectedConnections(tools: ConnectionTools, url: string): Promise<void>;
  /** Deletes unused definitions once an hour. */
  purge(): Promise<void>;
}

export function composeToolDefinitions(deps: {
  orm: Orm;
  connections: ConnectionStore;
  webhooks: WebhookOutbox;
  log: Logger;
}): ToolDefinitions {
  const { orm, connections, webhooks, log } = deps;
  let nextPurgeMs = Date.now() + PURGE_MS * Math.random();
  return {
    currentTools: createCurrentTools({ connections, store: createDefinitionStore(orm, webhooks), log }),
    refreshAffectedConnections: async (tools, url) =>
      refreshConnections(await connectionsWithAcceptedDefinitions(orm, url), { connections, tools, log }),
    async purge() {
      if (Date.now() < nextPurgeMs) return;
      nextPurgeMs = Date.now() + PURGE_MS;
      await purgeDefinitions(orm);
    },
  };
}
