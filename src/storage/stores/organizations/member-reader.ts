import type { Kysely } from "kysely";
import type { Member, MemberStore } from "../../../identity/organizations/organization.ts";
import { type Orm, type Tables, tablesOf, withEntities } from "../../orm.ts";

function membersOf(tables: Kysely<Tables>, organizationId: string) {
  return tables
    .selectFrom("member")
    .innerJoin("account as person", "person.id", "member.person_id")
    .select(["person.id", "person.email", "member.role", "member.created_at as createdAt"])
    .where("member.account_id", "=", organizationId);
}

/** Reads members in PostgreSQL. */
export function createMemberReader(orm: Orm): Pick<MemberStore, "findMember" | "listMembers"> {
  return {
    findMember: (id, memberId) =>
      withEntities(orm, (em): Promise<Member | undefined> =>
        membersOf(tablesOf(em), id).where("person.id", "=", memberId).executeTakeFirst(),
      ),

    listMembers: (id, limit, offset) =>
      withEntities(orm, async (em) => {
        const all = membersOf(tablesOf(em), id);
        const members: readonly Member[] = await all
          .orderBy("member.created_at")
          .orderBy("person.id")
          .limit(limit)
          .offset(offset)
          .execute();
        const { count } = await all
          .clearSelect()
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        return { members, totalCount: count };
      }),
  };
}
