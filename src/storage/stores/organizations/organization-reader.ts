import type { Kysely } from "kysely";
import type {
  JoinedOrganization,
  Organization,
  OrganizationStore,
} from "../../../identity/organizations/organization.ts";
import { type Orm, type Tables, tablesOf, withEntities } from "../../orm.ts";

/** Active organizations with their number of members. */
function organizations(tables: Kysely<Tables>) {
  return tables
    .selectFrom("account as organization")
    .where("organization.kind", "=", "organization")
    .where("organization.disabled_at", "is", null)
    .select(["organization.id", "organization.name", "organization.created_at as createdAt"])
    .select(({ selectFrom }) =>
      selectFrom("member as each")
        .select(({ fn }) => fn.countAll<number>().as("count"))
        .whereRef("each.account_id", "=", "organization.id")
        .as("memberCount"),
    );
}

type OrganizationRow = Omit<Organization, "memberCount"> & { readonly memberCount: number | null };

function toOrganization({ id, name, createdAt, memberCount }: OrganizationRow): Organization {
  return { id, name, createdAt, memberCount: memberCount ?? 0 };
}

/** Reads organizations in PostgreSQL. */
export function createOrganizationReader(orm: Orm): Pick<OrganizationStore, "find" | "listOf"> {
  return {
    find: (id, personId) =>
      withEntities(orm, async (em) => {
        const row = await organizations(tablesOf(em))
          .where("organization.id", "=", id)
          .leftJoin("member", (join) =>
            join.onRef("member.account_id", "=", "organization.id").on("member.person_id", "=", personId ?? ""),
          )
          .select("member.role")
          .executeTakeFirst();
        return row && { ...toOrganization(row), role: row.role ?? undefined };
      }),

    listOf: (personId, limit, offset) =>
      withEntities(orm, async (em) => {
        const joined = organizations(tablesOf(em))
          .innerJoin("member", "member.account_id", "organization.id")
          .where("member.person_id", "=", personId);
        const rows = await joined
          .select("member.role")
          .orderBy("member.created_at")
          .orderBy("organization.id")
          .limit(limit)
          .offset(offset)
          .execute();
        const { count } = await joined
          .clearSelect()
          .select(({ fn }) => fn.countAll<number>().as("count"))
          .executeTakeFirstOrThrow();
        const found = rows.map((row): JoinedOrganization => ({ ...toOrganization(row), role: row.role }));
        return { organizations: found, totalCount: count };
      }),
  };
}
