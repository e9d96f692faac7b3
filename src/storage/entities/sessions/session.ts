import { defineEntity } from "@mikro-orm/core";
import type { JsonObject } from "../../../json.ts";
import type { Peer } from "../../../runtime/sessions/session.ts";
import { owner } from "../identity/owner.ts";
import { indexAs } from "../index-as.ts";

/** An MCP session. */
export const SessionEntity = defineEntity({
  name: "Session",
  properties: (p) => ({
    accountId: owner("session_account_id_fkey"),
    id: p.text().primary(),
    memberId: p.text().nullable(),
    clientId: p.text(),
    connectionId: p.integer().nullable(),
    grantId: p.text().nullable(),
    protocolVersion: p.text(),
    clientInfo: p.json<Peer>(),
    clientCapabilities: p.json<JsonObject>().defaultRaw("'{}'"),
    calledConnectionIds: p.array<number>().columnType("integer[]").defaultRaw("'{}'"),
    /** Connection ids by tool id. */
    bareNames: p.json<Record<string, number>>().defaultRaw("'{}'"),
    logLevel: p.text().nullable(),
    resourceUris: p.array().columnType("text[]").defaultRaw("'{}'"),
    createdAt: p.datetime().defaultRaw("now()"),
    lastUsedAt: p.datetime().defaultRaw("now()"),
    /** A lower bound of `lastUsedAt` that the sweep updates. It is indexed, so use does not change it. */
    idleSince: p.datetime().defaultRaw("now()"),
  }),
  indexes: [
    { name: "session_idle", properties: ["idleSince"] },
    { name: "session_client", properties: ["accountId", "clientId"] },
    indexAs(`create index session_grant on session (account_id, grant_id) where grant_id is not null`),
  ],
});
