import { Migration } from "@mikro-orm/migrations";

/** Creates the accounts, which own all other objects. */
export class CreateAccount extends Migration {
  override up(): void {
    this.addSql(`
      create table account (
        id text primary key,
        email text not null,
        password_hash text not null,
        is_admin boolean not null default false,
        disabled_at timestamptz,
        created_at timestamptz not null default now()
      )
    `);
    this.addSql(`
      create unique index account_email on account (lower(email))
    `);
  }
}
