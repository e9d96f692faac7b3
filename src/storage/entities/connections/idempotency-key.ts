import { defineEntity } from "@mikro-orm/core";
import { owner } from "../identity/owner.ts";

/** The response stored under an `Idempotency-Key`. */
export const IdempotencyKeyEntity = defineEntity({
  name: "IdempotencyKey",
  properties: (p) => ({
    accountId: owner("idempotency_key_account_id_fkey"),
    key: p.text().primary(),
    requestHash: p.blob().$type<Buffer>(),
    connectionId: p.integer(),
    serverType: p.text(),
    name: p.text(),
    status: p.enum(["active", "disabled", "needs_authorization", "error"]),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  }),
  indexes: [{ name: "idempotency_key_expires_at_idx", properties: ["expiresAt"] }],
});
