import { Migration } from "@mikro-orm/migrations";

/**
 * A migration outside a transaction, for `create index concurrently if not exists` and `drop index concurrently if
 * exists`. If it is interrupted after any statement, it runs again from the beginning.
 */
export abstract class ConcurrentMigration extends Migration {
  override isTransactional(): boolean {
    return false;
  }
}
