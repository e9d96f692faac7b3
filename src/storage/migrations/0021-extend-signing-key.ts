import { Migration } from "@mikro-orm/migrations";

/** Lets signing keys rotate: says since when each may sign, signs, and no longer does. */
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
    // Whether anybody still uses a token that a retired key has signed.
    this.addSql(`
      create index personal_access_token_in_use on personal_access_token (created_at) where revoked_at is null
    `);
  }
}
