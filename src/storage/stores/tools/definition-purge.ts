import { sql } from "kysely";
import { type Orm, tablesOf, withEntities } from "../../orm.ts";

/**
 * Longer than any replica remembers that it stored a row (`createDefinitionStore`), so that no row is deleted just
 * before a connection refers to it.
 */
const LONG_UNUSED = sql<Date>`now() - interval '1 day'`;

/** Deletes definitions and sets that no connection refers to. Safe on several replicas at once. */
export async function purgeDefinitions(orm: Orm): Promise<void> {
  await withEntities(orm, async (em) => {
    const tables = tablesOf(em);
    await tables
      .deleteFrom("tool_pin_set as kept")
      .where("used_at", "<", LONG_UNUSED)
      .where(({ not, exists, selectFrom }) =>
        not(exists(selectFrom("connection").select("id").whereRef("tool_pins", "=", "kept.digest"))),
      )
      .execute();
    await tables
      .deleteFrom("tool_definition")
      .where("used_at", "<", LONG_UNUSED)
      .where("digest", "not in", (sets) =>
        sets.selectFrom("tool_pin_set").select(sql<string>`unnest(definitions)`.as("digest")),
      )
      .execute();
  });
}
