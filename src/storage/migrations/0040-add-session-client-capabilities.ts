import { Migration } from "@mikro-orm/migrations";

/** Adds the capabilities that the client of a session declared, which its requests rely on at every replica. */
export class AddSessionClientCapabilities extends Migration {
  override up(): void {
    this.addSql("alter table session add column client_capabilities jsonb not null default '{}'");
  }
}
