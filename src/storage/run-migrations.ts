import { setTimeout as sleep } from "node:timers/promises";
import type { Constructor } from "@mikro-orm/core";
import { type Migration, Migrator } from "@mikro-orm/migrations";
import type pg from "pg";
import type { Logger } from "pino";
import { finishBackfills } from "./backfills/run-backfill.ts";
import { dropInvalidIndexes } from "./drop-invalid-indexes.ts";
import { type ConnectionSource, MIGRATION_TABLE, openOrm, type Orm } from "./orm.ts";
import { requiredBy } from "./schema-version.ts";
import { errorCode } from "./storage-error.ts";

/**
 * How long a migration waits for the lock on a table. All statements on that table queue behind the migration meanwhile, so
 * this is the longest delay that one attempt adds to a request.
 */
const LOCK_TIMEOUT_MS = 1_000;

/** Maximum number of attempts to get the locks of one migration; with their pauses, they take about five minutes. */
const MAX_ATTEMPTS = 30;
const MAX_PAUSE_MS = 10_000;

/** A lock was not available in time, or the migration was the victim of a deadlock. */
const LOCK_FAILURES: ReadonlySet<string | undefined> = new Set(["55P03", "40P01"]);

/** The migrations in the order in which they run. */
export interface MigrationSource {
  readonly names: readonly string[];
  load(): Promise<readonly { readonly name: string; readonly class: Constructor<Migration> }[]>;
}

/** The database session that runs the migrations. */
export interface MigrationRun {
  readonly client: pg.Client;
  readonly log: Logger;
  readonly migrations: Awaited<ReturnType<MigrationSource["load"]>>;
  /** The names of the migrations that have not run yet. */
  pending(): Promise<readonly string[]>;
  /** Runs the work while no other replica migrates. */
  exclusively<Result>(work: () => Promise<Result>): Promise<Result>;
}

/**
 * Runs the pending migrations in order and returns their names. A migration that does not get a lock in time is repeated.
 * The advisory lock is released in between, because a waiting replica of an older version can be part of the deadlock.
 */
export async function runPending(run: MigrationRun): Promise<readonly string[]> {
  const ran: string[] = [];
  const orm = openMigrationOrm(run);
  const migrator = new Migrator(orm.em);
  for (let attempt = 1, before = 0; ; attempt += 1) {
    try {
      await run.exclusively(async () => {
        for (const name of await run.pending()) {
          await runOne(orm, migrator, run, name);
          ran.push(name);
        }
      });
      return ran;
    } catch (error) {
      if (!LOCK_FAILURES.has(errorCode(error))) throw error;
      if (ran.length > before) attempt = 1;
      before = ran.length;
      const [name] = await run.pending();
      if (attempt >= MAX_ATTEMPTS) throw lockRefused(name, error);
      run.log.warn({ migration: name, attempt }, "a migration did not get its locks; trying again");
    }
    await sleep(Math.min(attempt * 500, MAX_PAUSE_MS) * (0.5 + Math.random()));
  }
}

function lockRefused(name: string | undefined, cause: unknown): Error {
  return new Error(
    `migration ${name} did not get its locks in ${MAX_ATTEMPTS} attempts of ${LOCK_TIMEOUT_MS} ms and changed nothing. ` +
      "End the long transactions in pg_stat_activity, then start again",
    { cause },
  );
}

async function runOne(orm: Orm, migrator: Migrator, run: MigrationRun, name: string): Promise<void> {
  const { client, log, migrations } = run;
  const known = migrations.find((one) => one.name === name);
  if (known === undefined) throw new Error(`the migration ${name} has no file`);
  const migration = new known.class(orm.em.getDriver(), orm.config);
  const isTransactional = migration.isTransactional();
  // Building an index concurrently waits for old transactions but does not delay other statements.
  await client.query(`set lock_timeout = ${isTransactional ? LOCK_TIMEOUT_MS : 0}`);
  if (!isTransactional) await dropInvalidIndexes(client, migration);
  // This also allows an upgrade that skips a version, in which no replica has run the backfills.
  if (requiredBy(name) !== undefined) await finishBackfills(orm);
  const startedAt = performance.now();
  await migrator.up({ migrations: [name] });
  log.debug({ migration: name, ms: Math.round(performance.now() - startedAt) }, "migrated");
}

/** The mapper on the one connection that holds the advisory lock, so that losing the lock also ends the migration. */
function openMigrationOrm({ client, migrations }: MigrationRun): Orm {
  const connection = Object.assign(client, { release: () => undefined });
  const source: ConnectionSource = { connect: () => Promise.resolve(connection) };
  const orm = openOrm(source);
  orm.config.set("migrations", {
    tableName: MIGRATION_TABLE,
    migrationsList: [...migrations],
    snapshot: false,
    disableForeignKeys: false,
    silent: true,
    transactional: true,
    allOrNothing: false,
  });
  return orm;
}
