import { defineEntity } from "@mikro-orm/core";

/** Tokens that a third party gave a connection, sealed. */
export const ConnectionGrantEntity = defineEntity({
  name: "ConnectionGrant",
  tableName: "connection_grant",
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
    {
      name: "connection_grant_in_force",
      expression: `create unique index connection_grant_in_force on connection_grant (account_id, connection_id) where ended_at is null`,
    },
    {
      name: "connection_grant_ended",
      expression: `create index connection_grant_ended on connection_grant (ended_at) where ended_at is not null`,
    },
    {
      name: "connection_grant_sealed_version",
      expression: `create index connection_grant_sealed_version on connection_grant (substring(sealed_grant from 2 for 4))`,
    },
  ],
});
