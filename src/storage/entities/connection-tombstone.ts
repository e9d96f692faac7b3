import { defineEntity } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** An id that never comes back, and whether its history has been purged. */
export const ConnectionTombstoneEntity = defineEntity({
  name: "ConnectionTombstone",
  tableName: "connection_tombstone",
  properties: (p) => ({
    accountId: p
      .manyToOne(AccountEntity)
      .mapToPk()
      .primary()
      .joinColumn("account_id")
      .foreignKeyName("connection_tombstone_account_id_fkey")
      .deleteRule("cascade"),
    connectionId: p.integer().primary(),
    deletedAt: p.datetime().defaultRaw("now()"),
    purgedAt: p.datetime().nullable(),
  }),
});
