import type pg from "pg";
import type { StatementRunner } from "../reads.ts";
import { translateDatabaseError } from "../storage-error.ts";

/** A prepared statement: PostgreSQL parses and plans it once per connection under its name. */
export interface Statement {
  /** The same name must always carry the same text. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Runs one prepared statement on the pool, the reads or a client; driver errors come out translated. */
export async function runStatement<Row extends pg.QueryResultRow>(
  runner: StatementRunner,
  { name, text, values }: Statement,
): Promise<pg.QueryResult<Row>> {
  try {
    return await runner.query<Row>({ name, text, values: [...values] });
  } catch (error) {
    throw translateDatabaseError(error);
  }
}
