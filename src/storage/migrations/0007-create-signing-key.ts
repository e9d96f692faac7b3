import { Migration } from "@mikro-orm/migrations";

/** Creates the keys that sign tokens. */
export class CreateSigningKey extends Migration {
  override up(): void {
    this.addSql(`
      create table signing_key (
        id text primary key,
        purpose text not null check (purpose in ('access_token', 'personal_access_token')),
        state text not null check (state in ('next', 'current', 'retired')),
        public_jwk jsonb not null,
        sealed_private_jwk bytea not null,
        created_at timestamptz not null default now()
      )
    `);
    this.addSql(`
      create unique index signing_key_current on signing_key (purpose) where state = 'current'
    `);
  }
}
