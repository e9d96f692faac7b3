import { sql } from "kysely";
import { announcing } from "./announcing.ts";
import { named } from "./named.ts";
import { prepare } from "./prepare.ts";

/** The last tool list of an upstream. */
export const findToolList = prepare("tool_list_find", (tables, given: { accountId: string; connectionId: number }) =>
  tables
    .selectFrom("tool_list")
    .select(named("keyVersion", "tools", "digest", "fetchedAt"))
    .where("account_id", "=", given.accountId)
    .where("connection_id", "=", given.connectionId),
);

interface ToolListToSave {
  readonly accountId: string;
  readonly connectionId: number;
  readonly keyVersion: number;
  /** As JSON. */
  readonly tools: string;
  readonly digest: string;
  readonly fetchedAt: Date;
}

/** Saves a list only for the key version that it was fetched with. Notifies replicas only if the list changed. */
export const saveToolList = prepare("tool_list_save", (tables, given: ToolListToSave) =>
  tables
    .with("before", (before) =>
      before
        .selectFrom("tool_list")
        .select("digest")
        .where("account_id", "=", given.accountId)
        .where("connection_id", "=", given.connectionId),
    )
    .with("saved", (saved) =>
      saved
        .insertInto("tool_list")
        .columns(["account_id", "connection_id", "key_version", "tools", "digest", "fetched_at"])
        .expression((connections) =>
          connections
            .selectFrom("connection")
            .select([
              "account_id",
              "id",
              "key_version",
              sql<never>`${given.tools}::jsonb`.as("tools"),
              sql<string>`${given.digest}::text`.as("digest"),
              sql<Date>`${given.fetchedAt}::timestamptz`.as("fetched_at"),
            ])
            .where(({ and }) =>
              and({ account_id: given.accountId, id: given.connectionId, key_version: given.keyVersion }),
            )
            .forShare(),
        )
        .onConflict((conflict) =>
          conflict.columns(["account_id", "connection_id"]).doUpdateSet(({ ref }) => ({
            key_version: ref("excluded.key_version"),
            digest: ref("excluded.digest"),
            fetched_at: ref("excluded.fetched_at"),
            tools: sql`case when tool_list.digest = excluded.digest then tool_list.tools else excluded.tools end`,
          })),
        )
        .returning(["account_id", "connection_id as id"]),
    )
    .selectFrom("saved")
    .select(announcing("tools"))
    .where(
      ({ selectFrom }) => sql<boolean>`${given.digest}::text is distinct from ${selectFrom("before").select("digest")}`,
    ),
);

/** The ids of those names that are interned. */
export const findToolNames = prepare("tool_name_find", (tables, given: { names: readonly string[] }) =>
  tables
    .selectFrom("tool_name")
    .select(["id", "name"])
    .where("name", "=", sql<string>`any (${given.names}::text[])`),
);

/**
 * Interns names in a fixed order, because transactions that insert the same names in opposite orders would deadlock.
 */
export const addToolNames = prepare("tool_name_add", (tables, given: { names: readonly string[] }) =>
  tables
    .insertInto("tool_name")
    .columns(["name"])
    .expression(sql<{ name: string }>`select distinct name from unnest(${given.names}::text[]) as name order by name`)
    .onConflict((conflict) => conflict.column("name").doNothing()),
);
