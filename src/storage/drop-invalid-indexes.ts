import type { Migration } from "@mikro-orm/migrations";
import type pg from "pg";

const CONCURRENT_INDEX = /^\s*create\s+(?:unique\s+)?index\s+concurrently\s+if\s+not\s+exists\s+(?<name>\w+)/i;

/**
 * Drops the indexes that an interrupted run of this migration left invalid. PostgreSQL keeps them up to date but never reads
 * them, and `if not exists` would accept them as finished.
 */
export async function dropInvalidIndexes(client: pg.Client, migration: Migration): Promise<void> {
  await migration.up();
  const statements = migration.getQueries().filter((query) => typeof query === "string");
  const names = statements.flatMap((sql) => CONCURRENT_INDEX.exec(sql)?.groups?.["name"] ?? []);
  const { rows } = await client.query<{ name: string }>(
    `select relation.relname as name from pg_index join pg_class as relation on relation.oid = indexrelid
     where not indisvalid and relation.relname = any($1) and relation.relnamespace = current_schema()::regnamespace`,
    [names],
  );
  for (const { name } of rows) await client.query(`drop index concurrently if exists ${client.escapeIdentifier(name)}`);
}
