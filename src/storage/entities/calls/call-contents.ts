import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";
import { indexAs } from "../index-as.ts";

/** The contents of a call, encrypted. Stored only if the connection's owner enabled it. */
export const CallContentsEntity = defineEntity({
  name: "CallContents",
  properties: (p) => ({
    accountId: owner("call_contents_account_id_fkey"),
    callId: p.bigint("number").primary(),
    connectionId: p.integer(),
    startedAt: p.datetime(),
    keptUntil: p.datetime(),
    sealed: p.blob().$type<Buffer>(),
  }),
  indexes: [
    { name: "call_contents_connection", properties: ["accountId", "connectionId", "startedAt"] },
    { name: "call_contents_kept_until", properties: ["keptUntil"] },
    indexAs(`create index call_contents_sealed_version on call_contents (substring(sealed from 2 for 4))`),
  ],
});
