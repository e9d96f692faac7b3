import { Migration } from "@mikro-orm/migrations";

/**
 * Creates the audit log: actor, action, object and address. Rows are only added, and are deleted with their account.
 */
export class CreateAuditEvent extends Migration {
  override up(): void {
    this.addSql(`
      create table audit_event (
        -- Whose log it is; 'installation' for what concerns no account. No foreign key: a log outlives what it tells of.
        account_id text not null,
        occurred_at timestamptz not null default date_trunc('milliseconds', clock_timestamp()),
        id bigint generated always as identity,
        action text not null,
        outcome text not null default 'ok' check (outcome in ('ok', 'refused')),
        actor_kind text not null check (actor_kind in ('account', 'operator', 'service')),
        actor_account_id text,
        actor_client_id text,
        actor_token_id text,
        address text not null default '',
        user_agent text not null default '',
        object_type text not null,
        object_id text not null,
        object_name text not null default '',
        changed text[] not null default '{}',
        primary key (account_id, occurred_at, id)
      )
    `);
    this.addSql(`
      create index audit_event_time on audit_event (occurred_at, id)
    `);
    // Prevents accidental changes of the log, including by this service. Only a purge that declares itself may delete
    // rows.
    this.addSql(`
      create function keep_audit_event() returns trigger language plpgsql as $keep$
      begin
        if current_setting('patchbay.purge', true) is distinct from 'on' then
          raise exception 'the audit log is append-only';
        end if;
        return case when tg_op = 'DELETE' then old else new end;
      end $keep$
    `);
    this.addSql(`
      create trigger audit_event_append_only before update or delete on audit_event
        for each row execute function keep_audit_event()
    `);
    this.addSql(`
      create function refuse_audit_truncate() returns trigger language plpgsql as $keep$
      begin
        raise exception 'the audit log is append-only';
      end $keep$
    `);
    this.addSql(`
      create trigger audit_event_no_truncate before truncate on audit_event
        for each statement execute function refuse_audit_truncate()
    `);
  }
}
