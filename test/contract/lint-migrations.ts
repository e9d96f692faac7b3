// Lists what makes a migration unsafe while two versions of the service run. Fails if it finds something.
import { openOrm } from "../../src/storage/orm.ts";
import { BACKFILLS } from "../../src/storage/backfills/all.ts";
import { loadMigrations } from "../../src/storage/migrations/index.ts";
import { migrationFaults } from "./migration-faults.ts";

/** Migrations up to this one ran before the rules existed. They never change. */
const LAST_EXEMPT = "0035_leave_room_for_updates";

const orm = openOrm({ connect: () => Promise.reject(new Error("a migration must state its SQL with addSql alone")) });
const known = new Set(BACKFILLS.map(({ name }) => name));

for (const { name, class: type } of await loadMigrations()) {
  if (name <= LAST_EXEMPT) continue;
  const migration = new type(orm.em.getDriver(), orm.config);
  await migration.up();
  const statements = migration.getQueries().map(String);
  const linted = { name, isTransactional: migration.isTransactional(), statements };
  for (const fault of [...migrationFaults(linted), ...backfillFaults(statements)]) {
    console.error(`src/storage/migrations/${name.replaceAll("_", "-")}.ts: ${fault}`);
    process.exitCode = 1;
  }
}

function backfillFaults(statements: readonly string[]): readonly string[] {
  const started = statements.flatMap(
    (sql) => /^\s*insert into backfill \(name\) values \('(\w+)'\)/i.exec(sql)?.[1] ?? [],
  );
  return started
    .filter((name) => !known.has(name))
    .map((name) => `the backfill ${name} is not in src/storage/backfills/all.ts.`);
}
