import { defineEntity } from "@mikro-orm/core";

/** A call of a tool: caller, time, duration, outcome; without arguments and results. */
export const CallRecordEntity = defineEntity({
  name: "CallRecord",
  properties: (p) => ({
    accountId: p.text().primary(),
    startedAt: p.datetime().primary(),
    id: p.bigint("number").primary().autoincrement().generated("identity"),
    connectionId: p.integer(),
    toolName: p.text(),
    clientId: p.text(),
    durationMs: p.integer(),
    outcome: p.enum(["ok", "tool_error", "upstream_error", "refused", "cancelled"]),
    requestBytes: p.integer(),
    responseBytes: p.integer(),
  }),
  indexes: [{ name: "call_record_connection", properties: ["accountId", "connectionId", "startedAt", "id"] }],
});
