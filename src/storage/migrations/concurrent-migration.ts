import { Migration } from "@mikro-orm/migrations";

/**
 * A migration outside a transaction, for `create index concurrently if not exists` and `drop index concurrently if exists`.
 * It may be interrupted after any statement and then runs again from the beginning.
 */
export abstract class ConcurrentMigration extends Migration {
  override isTransactional(): boolean {
    return false;
  }
}
