import { Migration } from "@mikro-orm/migrations";

/**
 * Adds the alias of a connection. A row without an alias gets one computed from its name and id, which its next update
 * stores. This migration therefore changes no existing row.
 */
export class AddConnectionAlias extends Migration {
  override up(): void {
    this.addSql("alter table connection add column alias text");
  }
}
