import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** An id that never comes back, and whether its history has been purged. */
export const ConnectionTombstoneEntity = defineEntity({
  name: "ConnectionTombstone",
  properties: (p) => ({
    accountId: owner("connection_tombstone_account_id_fkey"),
    connectionId: p.integer().primary(),
    deletedAt: p.datetime().defaultRaw("now()"),
    purgedAt: p.datetime().nullable(),
  }),
});
