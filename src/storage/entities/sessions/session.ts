import { defineEntity } from "@mikro-orm/core";
import type { JsonObject } from "../../../json.ts";
import { owner } from "../identity/owner.ts";

/** An MCP session. */
export const SessionEntity = defineEntity({
  name: "Session",
  tableName: "session",
  properties: (p) => ({
    accountId: owner("session_account_id_fkey"),
    id: p.text().primary(),
    clientId: p.text(),
    connectionId: p.integer().nullable(),
    grantId: p.text().nullable(),
    protocolVersion: p.text(),
    clientInfo: p.json<JsonObject>(),
    calledConnectionIds: p.array<number>().columnType("integer[]").defaultRaw("'{}'"),
    bareNames: p.json<JsonObject>().defaultRaw("'{}'"),
    logLevel: p.text().nullable(),
    resourceUris: p.array().columnType("text[]").defaultRaw("'{}'"),
    createdAt: p.datetime().defaultRaw("now()"),
    lastUsedAt: p.datetime().defaultRaw("now()"),
    /** At most `lastUsedAt`, which the sweep moves it up to: indexed, so use does not change it. */
    idleSince: p.datetime().defaultRaw("now()"),
  }),
  indexes: [
    { name: "session_idle", expression: `create index session_idle on session (idle_since)` },
    { name: "session_client", expression: `create index session_client on session (account_id, client_id)` },
    {
      name: "session_grant",
      expression: `create index session_grant on session (account_id, grant_id) where grant_id is not null`,
    },
  ],
});
