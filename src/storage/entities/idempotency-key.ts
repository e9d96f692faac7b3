import { defineEntity } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** What was created under an `Idempotency-Key`, for as long as the key counts. */
export const IdempotencyKeyEntity = defineEntity({
  name: "IdempotencyKey",
  tableName: "idempotency_key",
  properties: (p) => ({
    accountId: p
      .manyToOne(AccountEntity)
      .mapToPk()
      .primary()
      .joinColumn("account_id")
      .foreignKeyName("idempotency_key_account_id_fkey")
      .deleteRule("cascade"),
    key: p.text().primary(),
    requestHash: p.blob(),
    connectionId: p.integer(),
    serverType: p.text(),
    name: p.text(),
    status: p.enum(["active", "disabled", "needs_authorization", "error"]),
    createdAt: p.datetime(),
    expiresAt: p.datetime(),
  }),
  indexes: [
    {
      name: "idempotency_key_expires_at_idx",
      expression: `create index idempotency_key_expires_at_idx on idempotency_key (expires_at)`,
    },
  ],
});
