import { defineEntity, p } from "@mikro-orm/core";
import { ConnectionEntity } from "./connection.ts";
import type { JsonValue } from "../../json.ts";

/** What an upstream last answered when asked for its tools. */
export const ToolListEntity = defineEntity({
  name: "ToolList",
  tableName: "tool_list",
  properties: {
    accountId: p.text().primary(),
    connectionId: p.integer().primary(),
    connection: () =>
      p
        .manyToOne(ConnectionEntity)
        .mapToPk()
        .joinColumns("account_id", "connection_id")
        .ownColumns()
        .foreignKeyName("tool_list_account_id_connection_id_fkey")
        .updateRule("no action")
        .deleteRule("cascade"),
    keyVersion: p.integer(),
    tools: p.json<JsonValue>(),
    digest: p.text(),
    fetchedAt: p.datetime(),
  },
});
