import { Kysely, PostgresDialect, sql } from "kysely";
import type pg from "pg";
import type { RewrapReport } from "../identity/keys/rewrap-secrets.ts";
import { forgetOtherKeys } from "./installation.ts";
import { SEALED_COLUMNS, type SealedColumn, type SealedTables, selectSealedOutside } from "./sealed-columns.ts";
import { SealError, type Sealer } from "./sealing.ts";

/** Number of rows read and written by one pair of statements, so that row locks last milliseconds. */
const BATCH = 500;

/**
 * Maximum number of passes over a column. Values that a busy service writes meanwhile with an older key need another
 * pass.
 */
const MAX_PASSES = 10;

type Key = readonly string[];

interface Move {
  readonly key: Key;
  readonly before: Buffer;
  readonly after: Buffer;
}

interface Batch {
  readonly moved: number;
  readonly failed: number;
  /** The key of the last row; undefined if there was none. */
  readonly last: Key | undefined;
}

async function moveBatch(
  tables: Kysely<SealedTables>,
  sealer: Sealer,
  column: SealedColumn,
  after: Key | undefined,
): Promise<Batch> {
  const names = column.key.map(({ name }) => sql.ref(name));
  const key = sql<string[]>`array[${sql.join(names.map((name) => sql`${name}::text`))}]`;
  const rows = await selectSealedOutside(tables, column, [sealer.newestVersion])
    .select([key.as("key"), sql.ref<Buffer>(column.column).as("sealed")])
    .$if(after !== undefined, (some) => some.where(sql<boolean>`(${sql.join(names)}) > (${sql.join(after ?? [])})`))
    .$call((some) => column.key.reduce((sorted, { name }) => sorted.orderBy(name), some))
    .limit(BATCH)
    .execute();
  const moves: Move[] = [];
  let failed = 0;
  for (const row of rows) {
    try {
      const rewrapped = sealer.rewrap(row.sealed, column.placeOf(row.key));
      if (rewrapped !== undefined) moves.push({ key: row.key, before: row.sealed, after: rewrapped });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      failed += 1;
    }
  }
  const moved = moves.length === 0 ? 0 : await writeBatch(tables, column, moves);
  return { moved, failed, last: rows.at(-1)?.key };
}

/** Writes a value only if it is unchanged since it was read, so that concurrent changes survive. */
async function writeBatch(tables: Kysely<SealedTables>, column: SealedColumn, moves: readonly Move[]): Promise<number> {
  const keys = column.key.map(({ type }, index) => sql`${moves.map(({ key }) => key[index])}::${sql.raw(type)}[]`);
  const [before, after] = [moves.map((move) => move.before), moves.map((move) => move.after)];
  const names = column.key.map((_, index) => sql.ref(`key_${index}`));
  const { numUpdatedRows } = await tables
    .updateTable(`${column.table} as target`)
    .from(
      sql`unnest(${sql.join(keys)}, ${before}::bytea[], ${after}::bytea[])`.as(
        sql`moved(${sql.join(names)}, before, after)`,
      ),
    )
    .set({ [column.column]: sql.ref("moved.after") })
    .where(({ and, eb }) =>
      and(column.key.map(({ name }, index) => eb(sql.ref(`target.${name}`), "=", sql.ref(`moved.key_${index}`)))),
    )
    .where(sql.ref(`target.${column.column}`), "=", sql.ref("moved.before"))
    .executeTakeFirst();
  return Number(numUpdatedRows);
}

async function moveColumn(
  tables: Kysely<SealedTables>,
  sealer: Sealer,
  column: SealedColumn,
): Promise<{ readonly moved: number; readonly failed: number }> {
  let moved = 0;
  for (let pass = 1; ; pass += 1) {
    let seen = 0;
    let failed = 0;
    let last: readonly string[] | undefined;
    do {
      const batch = await moveBatch(tables, sealer, column, last);
      moved += batch.moved;
      seen += batch.moved;
      failed += batch.failed;
      last = batch.last;
    } while (last !== undefined);
    if (seen === 0 || pass === MAX_PASSES) return { moved, failed };
  }
}

/** Encrypts every secret of the registry with the newest master key; see `RewrapSecrets`. */
export async function rewrapSecrets(pool: pg.Pool, sealer: Sealer): Promise<RewrapReport> {
  const tables = new Kysely<SealedTables>({ dialect: new PostgresDialect({ pool }) });
  const rewrapped: Record<string, number> = {};
  const failed: Record<string, number> = {};
  for (const column of SEALED_COLUMNS) {
    const name = `${column.table}.${column.column}`;
    const result = await moveColumn(tables, sealer, column);
    rewrapped[name] = result.moved;
    if (result.failed > 0) failed[name] = result.failed;
  }
  const remaining = await tables.transaction().execute((open) => forgetOtherKeys(open, sealer));
  return { masterKeyVersion: sealer.newestVersion, rewrapped, failed, remaining };
}
