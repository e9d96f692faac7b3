import { fork } from "node:child_process";
import type pg from "pg";
import type { Database } from "./database.ts";
import { MIGRATION_NAMES } from "./migrations/names.ts";
import { transaction } from "./transaction.ts";

/** Names the advisory lock that one migrating replica holds; any constant will do, as long as it never changes. */
const MIGRATION_LOCK = 0x70617463;

/**
 * Brings the schema up to date: runs the migrations that have not run yet, all or none of them, and returns their names.
 *
 * Replicas that start together wait for one another here. The lock belongs to a transaction, not to a session, so that it
 * also holds behind a transaction pooler.
 */
export async function migrate(database: Database): Promise<readonly string[]> {
  return await transaction(database.pool, async (client) => {
    await client.query("select pg_advisory_xact_lock($1)", [MIGRATION_LOCK]);
    return (await isUpToDate(client)) ? [] : await runMigrations(database.url);
  });
}

async function isUpToDate(client: pg.ClientBase): Promise<boolean> {
  const table = await client.query<{ exists: boolean }>("select to_regclass('migration') is not null as exists");
  if (table.rows[0]?.exists !== true) return false;
  const { rows } = await client.query<{ name: string }>("select name from migration");
  const applied = new Set(rows.map(({ name }) => name));
  return MIGRATION_NAMES.every((name) => applied.has(name));
}

/** Runs them in a process of their own: the ORM takes a third of the service's memory, and a process gives it back. */
async function runMigrations(url: string): Promise<readonly string[]> {
  const child = fork(new URL("./run-migrations.ts", import.meta.url));
  // Not as an argument, where everybody on the machine could read the password.
  child.send(url);
  const { promise, resolve } = Promise.withResolvers<unknown>();
  child.once("message", resolve).once("error", resolve).once("exit", resolve);
  const answer = await promise;
  if (typeof answer !== "object" || answer === null) throw new Error("the migrations ended before they were done");
  if ("names" in answer && Array.isArray(answer.names)) return answer.names.map(String);
  throw new Error(
    `the database cannot be migrated: ${"failure" in answer ? String(answer.failure) : "no reason given"}`,
  );
}
