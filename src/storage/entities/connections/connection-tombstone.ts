import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** The id of a deleted connection, which is never reused, and whether its history is purged. */
export const ConnectionTombstoneEntity = defineEntity({
  name: "ConnectionTombstone",
  properties: (p) => ({
    accountId: owner("connection_tombstone_account_id_fkey"),
    connectionId: p.integer().primary(),
    deletedAt: p.datetime().defaultRaw("now()"),
    purgedAt: p.datetime().nullable(),
  }),
});
