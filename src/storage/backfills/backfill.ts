import type { EntityManager } from "@mikro-orm/postgresql";
import type { JsonObject } from "../../json.ts";

/** A change of many rows that runs as a job after the start, in batches, while the service handles requests. */
export interface Backfill {
  /** The key in the table `backfill`, where a migration inserts it. */
  readonly name: string;
  /**
   * Changes at most `limit` rows, in the order of their key, after the row `lastKey` (null: from the first row), in the
   * transaction of `em`. Returns the last key; undefined if no row is left. Rows that a newer version has already written in
   * the new form stay as they are.
   */
  runBatch(em: EntityManager, lastKey: JsonObject | null, limit: number): Promise<BackfillBatch | undefined>;
}

/** What one batch changed. */
export interface BackfillBatch {
  readonly lastKey: JsonObject;
  readonly rows: number;
}
