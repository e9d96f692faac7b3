import type { RawQueryFragment } from "@mikro-orm/core";
import { type EntityManager, type InferKyselyDB, MikroORM, raw } from "@mikro-orm/postgresql";
import { type Kysely, PostgresDialect } from "kysely";
import type pg from "pg";
import { entities } from "./entities/index.ts";
import { ignoreError } from "./ignore-error.ts";
import { translateDatabaseError } from "./storage-error.ts";

/** The object-relational mapper over our entities. */
export type Orm = MikroORM;

/** The tables and columns that the entities describe, by their names in the database. */
export type Tables = InferKyselyDB<(typeof entities)[number]>;

/** The table in which the migrations that ran are kept. */
export const MIGRATION_TABLE = "migration";

/** Lends connections: a pool, or the one connection of a migration. */
export interface ConnectionSource {
  connect(): Promise<pg.ClientBase & { release(): void }>;
}

/** Opens the mapper on the service's pool, which the caller closes. */
export function openOrm(pool: ConnectionSource): Orm {
  return new MikroORM({
    // The mapper requires a database name, although the pool determines the database.
    dbName: "patchbay",
    driverOptions: new PostgresDialect({
      pool: { options: {}, connect: () => pool.connect(), end: () => Promise.resolve() },
    }),
    entities,
    ensureDatabase: false,
    // The mapper would print to the console; its errors are thrown anyway.
    logger: ignoreError,
    schemaGenerator: { skipTables: [MIGRATION_TABLE] },
  });
}

/** The moment at which the transaction began, by the database's clock. */
export function now(): RawQueryFragment & symbol {
  return raw("now()");
}

/** The query builder over our tables, within the entity manager's transaction if it has one. */
export function tablesOf(em: EntityManager): Kysely<Tables> {
  return em.getKysely<Tables>();
}

/** Runs `work` with a new entity manager, outside a transaction. Translates driver errors. */
export async function withEntities<Result>(orm: Orm, work: (em: EntityManager) => Promise<Result>): Promise<Result> {
  try {
    return await work(orm.em.fork());
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/**
 * Runs `work` in one transaction. Changed entities are written before the commit. An error rolls everything back and is
 * rethrown; driver errors are translated.
 */
export async function inTransaction<Result>(orm: Orm, work: (em: EntityManager) => Promise<Result>): Promise<Result> {
  return await withEntities(orm, (em) => em.transactional(work));
}

/** Calls a function of the database in the entity manager's transaction, if it has one. */
export async function callFunction<Result>(
  em: EntityManager,
  name: string,
  ...values: readonly (string | number | boolean)[]
): Promise<Result> {
  const { result } = await tablesOf(em)
    .selectNoFrom(({ fn, val }) =>
      fn(
        name,
        values.map((value) => val(value)),
      ).as("result"),
    )
    .$castTo<{ result: Result }>()
    .executeTakeFirstOrThrow();
  return result;
}

/** Sends a notification when the transaction commits. */
export async function notify(em: EntityManager, channel: string, payload: string): Promise<void> {
  await callFunction(em, "pg_notify", channel, payload);
}

/** When the transaction began, by the database's clock. */
export async function transactionTime(em: EntityManager): Promise<Date> {
  return await callFunction<Date>(em, "now");
}
