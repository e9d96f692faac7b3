import { defineEntity, p } from "@mikro-orm/core";
import { AccountEntity } from "./account.ts";
import { owner } from "./owner.ts";

/** A person in an organization. */
export const MemberEntity = defineEntity({
  name: "Member",
  properties: {
    accountId: owner("member_account_id_fkey"),
    /** The person's own account. */
    personId: p
      .manyToOne(AccountEntity)
      .mapToPk()
      .primary()
      .joinColumn("person_id")
      .fieldName("person_id")
      .foreignKeyName("member_person_id_fkey")
      .deleteRule("cascade"),
    role: p.enum(["owner", "admin", "member"]),
    createdAt: p.datetime().defaultRaw("now()"),
  },
  indexes: [{ name: "member_person", properties: ["personId"] }],
});
