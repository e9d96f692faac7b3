import { Migration } from "@mikro-orm/migrations";

/** Creates connections, their ids, and the list of ids that must not be reused. */
export class CreateConnection extends Migration {
  override up(): void {
    this.addSql(`
      create sequence connection_id_seq as integer
    `);
    this.addSql(`
      create table connection (
        account_id text not null references account (id) on delete cascade,
        id integer not null,
        server_type text not null,
        name text not null,
        description text not null default '',
        agent_enabled boolean not null default true,
        access_type text not null check (access_type in ('read', 'write', 'individual')),
        configuration jsonb not null,
        sealed_secrets bytea,
        has_credential boolean not null default false,
        verification_status text not null check (verification_status in ('pending', 'verified', 'failed')),
        status_reason text,
        key_version integer not null default 1,
        disabled_tool_ids integer[] not null default '{}',
        known_tool_ids integer[],
        oauth_client_id text not null,
        created_at timestamptz not null default now(),
        updated_at timestamptz not null default now(),
        primary key (account_id, id)
      )
    `);
    this.addSql(`
      create table connection_tombstone (
        account_id text not null references account (id) on delete cascade,
        connection_id integer not null,
        deleted_at timestamptz not null default now(),
        purged_at timestamptz,
        primary key (account_id, connection_id)
      )
    `);
  }
}
