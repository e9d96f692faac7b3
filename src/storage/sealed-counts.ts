import type pg from "pg";
import { isSealedOutside, SEALED_COLUMNS, versionOf } from "./sealed-columns.ts";

/** The number of secrets per master key, for keys that are not in the given list. */
export async function countSealedOutside(
  client: pg.ClientBase,
  versions: readonly number[],
): Promise<ReadonlyMap<number, number>> {
  const counts = new Map<number, number>();
  for (const column of SEALED_COLUMNS) {
    const { rows } = await client.query<{ version: Buffer; count: number }>(
      `select ${versionOf(column)} as version, count(*)::integer as count from ${column.table}
       where ${isSealedOutside(column, versions)} group by 1`,
    );
    for (const { version, count } of rows) {
      // A value without a complete header counts for no key; it fails when it is read.
      if (version.length < 4) continue;
      const number = version.readUInt32BE(0);
      counts.set(number, (counts.get(number) ?? 0) + count);
    }
  }
  return counts;
}
