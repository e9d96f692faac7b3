import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";

/** Who may log in to an account through an external OpenID provider. */
export const ExternalIdentityEntity = defineEntity({
  name: "ExternalIdentity",
  tableName: "external_identity",
  properties: {
    accountId: p
      .manyToOne(AccountEntity)
      .mapToPk()
      .primary()
      .joinColumn("account_id")
      .foreignKeyName("external_identity_account_id_fkey")
      .deleteRule("cascade"),
    issuer: p.text().primary(),
    subject: p.text().primary(),
    linkedAt: p.datetime().defaultRaw("now()"),
  },
  indexes: [
    {
      name: "external_identity_subject",
      expression: `create unique index external_identity_subject on external_identity (issuer, subject)`,
    },
  ],
});
