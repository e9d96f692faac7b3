import { Migration } from "@mikro-orm/migrations";

/**
 * Creates the call history with one partition per day. Records of a day without a partition go to `call_record_rest`.
 */
export class CreateCallRecord extends Migration {
  override up(): void {
    this.addSql(`
      create table call_record (
        account_id text not null references account (id) on delete cascade,
        started_at timestamptz not null,
        id bigint generated always as identity,
        connection_id integer not null,
        tool_name text not null,
        client_id text not null,
        duration_ms integer not null,
        outcome text not null check (outcome in ('ok', 'tool_error', 'upstream_error', 'refused', 'cancelled')),
        request_bytes integer not null,
        response_bytes integer not null,
        primary key (account_id, started_at, id)
      ) partition by range (started_at)
    `);
    this.addSql(`
      create index call_record_connection on call_record (account_id, connection_id, started_at, id)
    `);
    this.addSql(`
      create table call_record_rest partition of call_record default
    `);
  }
}
