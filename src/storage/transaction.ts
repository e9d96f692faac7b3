import type pg from "pg";
import { translateDatabaseError } from "./storage-error.ts";

/**
 * Runs `work` between BEGIN and COMMIT on one connection. An error rolls everything back and is rethrown.
 *
 * Driver errors are translated (see `translateDatabaseError`). A connection whose state is unknown is discarded. After
 * `unavailable`, the changes may or may not have been committed, because only the response to the COMMIT may have been
 * lost.
 */
export async function transaction<Result>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<Result>,
): Promise<Result> {
  let client: pg.PoolClient;
  try {
    client = await pool.connect();
  } catch (error) {
    throw translateDatabaseError(error);
  }
  let broken: Error | undefined;
  try {
    await client.query("begin");
    const result = await work(client);
    await client.query("commit");
    return result;
  } catch (error) {
    try {
      await client.query("rollback");
    } catch (rollbackError) {
      broken = rollbackError instanceof Error ? rollbackError : new Error("rollback failed");
    }
    throw translateDatabaseError(error);
  } finally {
    client.release(broken);
  }
}
