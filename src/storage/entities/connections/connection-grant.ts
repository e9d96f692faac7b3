import { defineEntity } from "@mikro-orm/core";
import { indexAs } from "../index-as.ts";

/** The encrypted tokens that an upstream issued to a connection. */
export const ConnectionGrantEntity = defineEntity({
  name: "ConnectionGrant",
  properties: (p) => ({
    accountId: p.text().primary(),
    id: p.text().primary(),
    connectionId: p.integer(),
    serverType: p.text(),
    keyVersion: p.integer(),
    sealedGrant: p.blob().$type<Buffer>(),
    version: p.integer().default(1),
    lostReason: p.text().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
    renewedAt: p.datetime().defaultRaw("now()"),
    endedAt: p.datetime().nullable(),
  }),
  indexes: [
    indexAs(
      `create unique index connection_grant_in_force on connection_grant (account_id, connection_id) where ended_at is null`,
    ),
    indexAs(`create index connection_grant_ended on connection_grant (ended_at) where ended_at is not null`),
    indexAs(`create index connection_grant_sealed_version on connection_grant (substring(sealed_grant from 2 for 4))`),
  ],
});
