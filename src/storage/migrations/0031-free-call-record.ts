import { Migration } from "@mikro-orm/migrations";

/**
 * Drops the foreign key from the history to accounts, because its check was a third of the cost of each insert. An
 * insert locks the connection, which has that key, and the history of an account is deleted by account id.
 */
export class FreeCallRecord extends Migration {
  override up(): void {
    this.addSql("alter table call_record drop constraint call_record_account_id_fkey");
  }
}
