import { Migration } from "@mikro-orm/migrations";

/** Adds the capabilities that a session's client declared, so that every replica can use them. */
export class AddSessionClientCapabilities extends Migration {
  override up(): void {
    this.addSql("alter table session add column client_capabilities jsonb not null default '{}'");
  }
}
