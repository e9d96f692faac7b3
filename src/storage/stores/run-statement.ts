import { CompiledQuery } from "kysely";
import type { EntityManager } from "@mikro-orm/postgresql";
import type pg from "pg";
import type { StatementResult, StatementRunner } from "../pool/reads.ts";
import { translateDatabaseError } from "../storage-error.ts";

/** A prepared statement: PostgreSQL parses and plans it once per connection under its name. */
export interface Statement {
  /** A name must always have the same text. */
  readonly name: string;
  readonly text: string;
  readonly values: readonly unknown[];
}

/** Runs a prepared statement on the pool, the read connections or a client. Translates driver errors. */
export async function runStatement<Row extends pg.QueryResultRow>(
  runner: StatementRunner,
  { name, text, values }: Statement,
): Promise<StatementResult<Row>> {
  try {
    return await runner.query<Row>({ name, text, values: [...values] });
  } catch (error) {
    throw translateDatabaseError(error);
  }
}

/** Runs statements in the entity manager's transaction, after flushing its pending changes. */
export function runnerOf(em: EntityManager): StatementRunner {
  return {
    async query<Row extends pg.QueryResultRow>({ text, values }: pg.QueryConfig): Promise<StatementResult<Row>> {
      await em.flush();
      const query = CompiledQuery.raw(text, values) as CompiledQuery<Row>;
      const { rows, numAffectedRows } = await em.getKysely().executeQuery(query);
      return { rows, rowCount: Number(numAffectedRows ?? rows.length) };
    },
  };
}
