import { Migration } from "@mikro-orm/migrations";

/** Creates MCP sessions. */
export class CreateSession extends Migration {
  override up(): void {
    this.addSql(`
      create table session (
        account_id text not null references account (id) on delete cascade,
        id text not null,
        client_id text not null,
        connection_id integer,
        protocol_version text not null,
        client_info jsonb not null,
        called_connection_ids integer[] not null default '{}',
        -- {"<tool id>": connection id}: which connection a bare name means for as long as the session lives.
        bare_names jsonb not null default '{}',
        created_at timestamptz not null default now(),
        last_used_at timestamptz not null default now(),
        primary key (account_id, id)
      )
    `);
    this.addSql(`
      create index session_idle on session (last_used_at)
    `);
    this.addSql(`
      create index session_client on session (account_id, client_id)
    `);
  }
}
