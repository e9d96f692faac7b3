import { defineEntity, p } from "@mikro-orm/core";
import { connectionReference } from "./connection-reference.ts";

/** When a connection's key is verified next. */
export const VerificationEntity = defineEntity({
  name: "Verification",
  properties: {
    accountId: p.text().primary(),
    connectionId: p.integer().primary(),
    connection: () => connectionReference("verification_account_id_connection_id_fkey"),
    keyVersion: p.integer(),
    priority: p.smallint(),
    dueAt: p.datetime(),
    attempt: p.integer().default(0),
  },
  indexes: [{ name: "verification_due", properties: ["priority", "dueAt"] }],
});
