import { defineEntity } from "@mikro-orm/core";
import { indexAs } from "../index-as.ts";

/** An account, the owner of all other rows. */
export const AccountEntity = defineEntity({
  name: "Account",
  properties: (p) => ({
    id: p.text().primary(),
    kind: p.enum(["person", "organization"]).default("person"),
    /** Organizations have an address that nobody can have, because it is unique and required. */
    email: p.text(),
    name: p.text().default(""),
    passwordHash: p.text(),
    isAdmin: p.boolean().default(false),
    disabledAt: p.datetime().nullable(),
    createdAt: p.datetime().defaultRaw("now()"),
  }),
  indexes: [
    indexAs(`create unique index account_email on account (lower(email))`),
    indexAs(`create index account_disabled on account (disabled_at) where disabled_at is not null`),
  ],
});
