import type pg from "pg";
import type { RewrapReport } from "../identity/keys/rewrap-secrets.ts";
import { forgetOtherKeys } from "./installation.ts";
import { isSealedOutside, SEALED_COLUMNS, type SealedColumn } from "./sealed-columns.ts";
import { SealError, type Sealer } from "./sealing.ts";
import { transaction } from "./transaction.ts";

/** Rows read and written by one pair of statements, so that a row's lock is held for milliseconds. */
const BATCH = 500;

/** Passes over a column until none is left; what a busy service writes meanwhile under an older key needs another one. */
const MAX_PASSES = 10;

interface Batch {
  readonly moved: number;
  readonly failed: number;
  /** The key of the last row; undefined when there was none. */
  readonly last: readonly string[] | undefined;
}

async function moveBatch(
  pool: pg.Pool,
  sealer: Sealer,
  column: SealedColumn,
  after: readonly string[] | undefined,
): Promise<Batch> {
  const names = column.key.map(({ name }) => name);
  const beyond =
    after === undefined
      ? ""
      : `and (${names.join(", ")}) > (${column.key.map(({ type }, index) => `$${index + 1}::${type}`).join(", ")})`;
  const { rows } = await pool.query<{ key: string[]; sealed: Buffer }>(
    `select array[${names.map((name) => `${name}::text`).join(", ")}] as key, ${column.column} as sealed from ${column.table}
     where ${isSealedOutside(column, [sealer.newestVersion])} ${beyond} order by ${names.join(", ")} limit ${BATCH}`,
    [...(after ?? [])],
  );
  const moves: { readonly key: readonly string[]; readonly before: Buffer; readonly after: Buffer }[] = [];
  let failed = 0;
  for (const { key, sealed } of rows) {
    try {
      const rewrapped = sealer.rewrap(sealed, column.placeOf(key));
      if (rewrapped !== undefined) moves.push({ key, before: sealed, after: rewrapped });
    } catch (error) {
      if (!(error instanceof SealError)) throw error;
      failed += 1;
    }
  }
  const moved = moves.length === 0 ? 0 : await writeBatch(pool, column, moves);
  return { moved, failed, last: rows.at(-1)?.key };
}

/** Writes each only where the value still is the one that was read: what somebody sealed meanwhile stays. */
async function writeBatch(
  pool: pg.Pool,
  column: SealedColumn,
  moves: readonly { readonly key: readonly string[]; readonly before: Buffer; readonly after: Buffer }[],
): Promise<number> {
  const count = column.key.length;
  const given = column.key.map(({ type }, index) => `$${index + 1}::${type}[]`);
  const matches = column.key.map(({ name }, index) => `target.${name} = moved.key_${index}`);
  const { rowCount } = await pool.query(
    `update ${column.table} as target set ${column.column} = moved.after
     from unnest(${given.join(", ")}, $${count + 1}::bytea[], $${count + 2}::bytea[])
       as moved(${column.key.map((_, index) => `key_${index}`).join(", ")}, before, after)
     where ${matches.join(" and ")} and target.${column.column} = moved.before`,
    [
      ...column.key.map((_, index) => moves.map(({ key }) => key[index])),
      moves.map(({ before }) => before),
      moves.map((move) => move.after),
    ],
  );
  return rowCount ?? 0;
}

async function moveColumn(
  pool: pg.Pool,
  sealer: Sealer,
  column: SealedColumn,
): Promise<{ readonly moved: number; readonly failed: number }> {
  let moved = 0;
  for (let pass = 1; ; pass += 1) {
    let seen = 0;
    let failed = 0;
    let last: readonly string[] | undefined;
    do {
      const batch = await moveBatch(pool, sealer, column, last);
      moved += batch.moved;
      seen += batch.moved;
      failed += batch.failed;
      last = batch.last;
    } while (last !== undefined);
    if (seen === 0 || pass === MAX_PASSES) return { moved, failed };
  }
}

/** Moves every secret of the registry to the newest master key; see `RewrapSecrets`. */
export async function rewrapSecrets(pool: pg.Pool, sealer: Sealer): Promise<RewrapReport> {
  const rewrapped: Record<string, number> = {};
  const failed: Record<string, number> = {};
  for (const column of SEALED_COLUMNS) {
    const name = `${column.table}.${column.column}`;
    const result = await moveColumn(pool, sealer, column);
    rewrapped[name] = result.moved;
    if (result.failed > 0) failed[name] = result.failed;
  }
  const remaining = await transaction(pool, (client) => forgetOtherKeys(client, sealer));
  return { masterKeyVersion: sealer.newestVersion, rewrapped, failed, remaining };
}
