import { Migration } from "@mikro-orm/migrations";

/** Creates the contents of calls, which a connection's owner can have stored for some days. */
export class CreateCallContents extends Migration {
  override up(): void {
    this.addSql(`
      alter table connection
        -- 0: nothing is kept.
        add column keep_contents_days smallint not null default 0
          constraint connection_keep_contents_days_check check (keep_contents_days between 0 and 30),
        -- What was said before this is not to be read again, whatever the number of days becomes later.
        add column keep_contents_since timestamptz
    `);
    this.addSql(`
      create table call_contents (
        account_id text not null references account (id) on delete cascade,
        -- The call's number in the history.
        call_id bigint not null,
        connection_id integer not null,
        started_at timestamptz not null,
        kept_until timestamptz not null,
        -- Arguments and result; people's lives may be in them.
        sealed bytea not null,
        primary key (account_id, call_id)
      )
    `);
    // Encrypted values cannot be compressed.
    this.addSql("alter table call_contents alter column sealed set storage external");
    this.addSql("create index call_contents_connection on call_contents (account_id, connection_id, started_at)");
    this.addSql("create index call_contents_kept_until on call_contents (kept_until)");
    this.addSql("create index call_contents_sealed_version on call_contents (substring(sealed from 2 for 4))");
  }
}
