import { defineEntity, p } from "@mikro-orm/core";
import { connectionReference } from "../connections/connection-reference.ts";
import { indexAs } from "../index-as.ts";

/** A task that an MCP client holds. */
export const McpTaskEntity = defineEntity({
  name: "McpTask",
  properties: {
    accountId: p.text().primary(),
    id: p.text().primary(),
    connectionId: p.integer(),
    connection: () => connectionReference("mcp_task_connection_fkey"),
    memberId: p.text().nullable(),
    clientId: p.text(),
    grantId: p.text().nullable(),
    sealedState: p.blob().$type<Buffer>(),
    createdAt: p.datetime().defaultRaw("now()"),
    expiresAt: p.datetime(),
    /** Set while a replica follows the task in a session of its upstream. */
    attendedUntil: p.datetime().nullable(),
    /** Set once: the state of an ended task never changes again. */
    endedAt: p.datetime().nullable(),
  },
  indexes: [
    { name: "mcp_task_connection", properties: ["accountId", "connectionId"] },
    { name: "mcp_task_expiry", properties: ["expiresAt"] },
    indexAs(`create index mcp_task_sealed_version on mcp_task (substring(sealed_state from 2 for 4))`),
  ],
});
