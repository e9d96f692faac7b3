import { Migration } from "@mikro-orm/migrations";

/** Stores the notifications that the MCP client of a session subscribed to. */
export class ExtendSession extends Migration {
  override up(): void {
    this.addSql(`
      alter table session
        -- The least severe log level that its client wants to hear of; null until it says.
        add column log_level text,
        -- The resources that its client subscribed to, by the URIs that it knows.
        add column resource_uris text[] not null default '{}'
    `);
  }
}
