import { Migration } from "@mikro-orm/migrations";

/** Adds to a document change the tools whose definitions changed. */
export class ExtendOpenapiChange extends Migration {
  override up(): void {
    this.addSql("alter table openapi_change add column changed text[] not null default '{}'");
  }
}
