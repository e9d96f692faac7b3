import { defineEntity } from "@mikro-orm/core";

/** The owner of everything else. */
export const AccountEntity = defineEntity({
  name: "Account",
  tableName: "account",
  properties: (p) => ({
    id: p.text().primary(),
    email: p.text(),
    passwordHash: p.text(),
    isAdmin: p.boolean().default(false),
    disabledAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [
    { name: "account_email", expression: `create unique index account_email on account (lower(email))` },
    {
      name: "account_disabled",
      expression: `create index account_disabled on account (disabled_at) where disabled_at is not null`,
    },
  ],
});
