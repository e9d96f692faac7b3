import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";
import { indexAs } from "../index-as.ts";

/** A message from one replica to another. */
export const RelayMessageEntity = defineEntity({
  name: "RelayMessage",
  properties: (p) => ({
    accountId: owner("relay_message_account_id_fkey"),
    address: p.text().primary(),
    id: p.text().primary(),
    sealedText: p.blob().$type<Buffer>(),
    expiresAt: p.datetime(),
  }),
  indexes: [
    { name: "relay_message_expiry", properties: ["expiresAt"] },
    indexAs(`create index relay_message_sealed_version on relay_message (substring(sealed_text from 2 for 4))`),
  ],
});
