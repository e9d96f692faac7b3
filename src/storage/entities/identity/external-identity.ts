import { defineEntity, p } from "@mikro-orm/core";
import { owner } from "./owner.ts";
import { indexAs } from "../index-as.ts";

/** A login at an external OpenID provider that is linked to an account. */
export const ExternalIdentityEntity = defineEntity({
  name: "ExternalIdentity",
  properties: {
    accountId: owner("external_identity_account_id_fkey"),
    issuer: p.text().primary(),
    subject: p.text().primary(),
    linkedAt: p.datetime().defaultRaw("now()"),
  },
  indexes: [indexAs(`create unique index external_identity_subject on external_identity (issuer, subject)`)],
});
