import { type Kysely, type RawBuilder, sql } from "kysely";
import type { Tables } from "../orm.ts";
import type { StatementRunner } from "../pool/reads.ts";
import { prepare } from "./prepare.ts";

/** Rows per deletion statement, so that locks are held only briefly. */
const BATCH = 5_000;
/** Rows per statement for call contents, which may have up to 128 KiB each. */
const CONTENTS_BATCH = 500;

/** Deletes in batches until no row is left. Returns false if the time `until` is reached before that. */
export type DeleteInBatches<Given> = (runner: StatementRunner, given: Given, until?: number) => Promise<boolean>;

/** Prepares the deletion of rows by key. Skips rows that another replica is deleting. */
export function deleteInBatches<Table extends keyof Tables, Given extends object>(
  name: string,
  table: Table,
  key: readonly (keyof Tables[Table] & string)[],
  isMeant: (given: Given) => RawBuilder<boolean>,
): DeleteInBatches<Given> {
  const size = table === "call_contents" ? CONTENTS_BATCH : BATCH;
  const columns = sql`(${sql.join(key.map((column) => sql.ref(column)))})`;
  const from: string = table;
  const run = prepare<Given, Record<string, never>>(name, (typed, given) => {
    // eslint-disable-next-line @typescript-eslint/no-unsafe-type-assertion -- one statement serves all tables; the parameters' types check the names.
    const tables = typed as unknown as Kysely<Record<string, Record<string, unknown>>>;
    const some = tables
      .selectFrom(from)
      .select(key)
      .where(isMeant(given))
      .limit(sql.lit(size))
      .forUpdate()
      .skipLocked();
    return tables.deleteFrom(from).where(columns, "in", some);
  });
  return async (runner, given, until = Infinity) => {
    while (((await run(runner, given)).rowCount ?? 0) >= size) if (Date.now() > until) return false;
    return true;
  };
}
