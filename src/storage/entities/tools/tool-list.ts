import { defineEntity, p } from "@mikro-orm/core";
import { connectionReference } from "../connections/connection-reference.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";

/** What an upstream last answered when asked for its tools. */
export const ToolListEntity = defineEntity({
  name: "ToolList",
  properties: {
    accountId: p.text().primary(),
    connectionId: p.integer().primary(),
    connection: () => connectionReference("tool_list_account_id_connection_id_fkey"),
    keyVersion: p.integer(),
    tools: p.json<ToolDefinition[]>(),
    digest: p.text(),
    fetchedAt: p.datetime(),
  },
});
