import { defineEntity, p } from "@mikro-orm/core";
import { connectionReference } from "../connections/connection-reference.ts";
import type { ToolDefinition } from "../../../integrations/tool.ts";

/** The last list of tools of an upstream. */
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
