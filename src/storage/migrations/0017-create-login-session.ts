import { Migration } from "@mikro-orm/migrations";

/** Creates login sessions and the count of failed logins. */
export class CreateLoginSession extends Migration {
  override up(): void {
    this.addSql(`
      create table login_session (
        account_id text not null references account (id) on delete cascade,
        id text not null,
        secret_hash bytea not null,
        authenticated_at timestamptz not null default now(),
        last_used_at timestamptz not null default now(),
        expires_at timestamptz not null,
        primary key (account_id, id)
      )
    `);
    this.addSql(`
      create unique index login_session_secret on login_session (account_id, secret_hash)
    `);
    this.addSql(`
      create index login_session_expiry on login_session (expires_at)
    `);
    // The rate limit library requires these column names. A key is a keyed hash, so that the text that a person entered
    // is not stored.
    this.addSql(`
      create table login_failure (
        key text not null primary key,
        points integer not null default 0,
        expire bigint
      )
    `);
    this.addSql(`
      create index login_failure_expiry on login_failure (expire)
    `);
  }
}
