import { Migration } from "@mikro-orm/migrations";

/** Adds the times at which a signing key is published, signs and is retired. */
export class ExtendSigningKey extends Migration {
  override up(): void {
    this.addSql(`
      alter table signing_key
        add column ready_at timestamptz not null default now(),
        add column current_since timestamptz,
        add column retired_at timestamptz,
        -- A retired key has lost its private half.
        alter column sealed_private_jwk drop not null
    `);
    this.addSql(`
      update signing_key set current_since = created_at where state = 'current'
    `);
    this.addSql(`
      create unique index signing_key_next on signing_key (purpose) where state = 'next'
    `);
    // Tells which tokens were signed by a retired key and are still in use.
    this.addSql(`
      create index personal_access_token_in_use on personal_access_token (created_at) where revoked_at is null
    `);
  }
}
