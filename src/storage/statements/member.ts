import { sql } from "kysely";
import { prepare } from "./prepare.ts";

/** The membership of a person in an active organization. */
export const findMembershipRow = prepare("member_find", (tables, given: { accountId: string; personId: string }) =>
  tables
    .selectFrom("member")
    .innerJoin("account", "account.id", "member.account_id")
    .select(["member.role", sql<number>`(extract(epoch from member.created_at) * 1000000)::bigint`.as("since")])
    .where("member.account_id", "=", given.accountId)
    .where("member.person_id", "=", given.personId)
    .where("account.disabled_at", "is", null),
);
