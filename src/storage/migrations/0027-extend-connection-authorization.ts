import { Migration } from "@mikro-orm/migrations";

/** Allows owners to authorize connections at the vendor instead of configuring a key. */
export class ExtendConnectionAuthorization extends Migration {
  override up(): void {
    this.addSql(`
      alter table connection
        add column auth_method text not null default 'configured'
          constraint connection_auth_method_check check (auth_method in ('configured', 'oauth2')),
        -- Whether the owner has to log in at the third party, for the first time or again.
        add column needs_authorization boolean not null default false,
        -- The scopes that a refused call asked for; null for the usual ones.
        add column wanted_scope text
    `);
  }
}
