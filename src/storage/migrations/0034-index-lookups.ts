import { Migration } from "@mikro-orm/migrations";

/** Adds indexes for lookups that scanned whole tables. */
export class IndexLookups extends Migration {
  override up(): void {
    this.addSql(`
      create index connection_spec_url on connection ((configuration->>'spec_url')) where server_type = 'openapi'
    `);
    this.addSql(`
      create index connection_spec on connection ((configuration->>'spec')) where server_type = 'openapi'
    `);
    this.addSql(`
      create index connection_unverified on connection (verification_status) where verification_status <> 'verified'
    `);
    this.addSql(`
      create index account_disabled on account (disabled_at) where disabled_at is not null
    `);
    this.addSql(`
      create index personal_access_token_id on personal_access_token (id)
    `);
  }
}
