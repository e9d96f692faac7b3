import { Migration } from "@mikro-orm/migrations";

/** Creates the tasks that MCP clients hold. Their upstream's id and their result are encrypted. */
export class CreateMcpTask extends Migration {
  override up(): void {
    this.addSql(`
      create table mcp_task (
        account_id text not null,
        id text not null,
        connection_id integer not null,
        client_id text not null,
        grant_id text,
        sealed_state bytea not null,
        created_at timestamptz not null default now(),
        expires_at timestamptz not null,
        -- Set while a replica follows the task in a session of its upstream.
        attended_until timestamptz,
        -- Set once: the state of an ended task never changes again.
        ended_at timestamptz,
        primary key (account_id, id),
        constraint mcp_task_connection_fkey foreign key (account_id, connection_id)
          references connection (account_id, id) on delete cascade
      )
    `);
    this.addSql("create index mcp_task_connection on mcp_task (account_id, connection_id)");
    this.addSql("create index mcp_task_expiry on mcp_task (expires_at)");
    this.addSql("create index mcp_task_sealed_version on mcp_task (substring(sealed_state from 2 for 4))");
  }
}
