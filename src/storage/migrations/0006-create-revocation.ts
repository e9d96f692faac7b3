import { Migration } from "@mikro-orm/migrations";

/** Creates revocations: tokens that are rejected although their signature is valid. */
export class CreateRevocation extends Migration {
  override up(): void {
    this.addSql(`
      create table revocation (
        account_id text not null,
        kind text not null check (kind in ('token', 'client', 'connection', 'account')),
        subject text not null,
        -- Tokens issued at or before this moment are refused; later ones are honoured. Null refuses all, for good.
        issued_before timestamptz,
        revoked_at timestamptz not null default now(),
        expires_at timestamptz,
        primary key (account_id, kind, subject)
      )
    `);
    this.addSql(`
      create index revocation_expiry on revocation (expires_at) where expires_at is not null
    `);
  }
}
