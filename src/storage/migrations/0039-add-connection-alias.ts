import { Migration } from "@mikro-orm/migrations";

/**
 * Adds the alias of a connection. Rows without one get it computed from their name and id, and stored by their next
 * update, so no existing row changes here.
 */
export class AddConnectionAlias extends Migration {
  override up(): void {
    this.addSql("alter table connection add column alias text");
  }
}
