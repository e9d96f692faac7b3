import { Migration } from "@mikro-orm/migrations";

/**
 * Creates the queue of key verifications, one narrow row per connection. It replaces `connection.verify_due_at`, whose
 * index is dropped so that updates of the wide row need not maintain it.
 */
export class CreateVerification extends Migration {
  override up(): void {
    this.addSql(`
      create table verification (
        account_id text not null,
        connection_id integer not null,
        key_version integer not null,
        -- 0: never tried; 1: waits for an answer, or was refused in a call; 2: a recheck. The lowest goes first.
        priority smallint not null,
        due_at timestamptz not null,
        attempt integer not null default 0,
        primary key (account_id, connection_id),
        foreign key (account_id, connection_id) references connection (account_id, id) on delete cascade
      )
    `);
    this.addSql(`
      insert into verification (account_id, connection_id, key_version, priority, due_at)
      select account_id, id, key_version, case verification_status when 'pending' then 0 else 2 end,
        case verification_status when 'pending' then now() else coalesce(verify_due_at, now() + random() * interval '24 hours') end
      from connection
    `);
    this.addSql("create index verification_due on verification (priority, due_at)");
    this.addSql("drop index connection_verify_due");
    // Moves the entries of the earlier queue to this one.
    this.addSql(`
      do $$ begin
        if to_regclass('pgboss.job') is not null then
          delete from pgboss.job where name = 'verify-key' and state in ('created', 'retry');
        end if;
      end $$
    `);
  }
}
