import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** What was said in a call, sealed; only where the connection's owner wants it kept. */
export const CallContentsEntity = defineEntity({
  name: "CallContents",
  tableName: "call_contents",
  properties: (p) => ({
    accountId: owner("call_contents_account_id_fkey"),
    callId: p.bigint("number").primary(),
    connectionId: p.integer(),
    startedAt: p.datetime(),
    keptUntil: p.datetime(),
    sealed: p.blob().$type<Buffer>(),
  }),
  indexes: [
    {
      name: "call_contents_connection",
      expression: `create index call_contents_connection on call_contents (account_id, connection_id, started_at)`,
    },
    {
      name: "call_contents_kept_until",
      expression: `create index call_contents_kept_until on call_contents (kept_until)`,
    },
    {
      name: "call_contents_sealed_version",
      expression: `create index call_contents_sealed_version on call_contents (substring(sealed from 2 for 4))`,
    },
  ],
});
