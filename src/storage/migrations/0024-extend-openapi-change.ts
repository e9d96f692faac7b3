import { Migration } from "@mikro-orm/migrations";

/** A change of a document also names the tools that are there before and after, and are others. */
export class ExtendOpenapiChange extends Migration {
  override up(): void {
    this.addSql("alter table openapi_change add column changed text[] not null default '{}'");
  }
}
