import { Migration } from "@mikro-orm/migrations";

/** Creates the last tool list of each upstream, and the interned tool names. */
export class CreateToolList extends Migration {
  override up(): void {
    this.addSql(`
      create table tool_name (
        id integer generated always as identity primary key,
        name text not null unique
      )
    `);
    this.addSql(`
      create table tool_list (
        account_id text not null,
        connection_id integer not null,
        key_version integer not null,
        tools jsonb not null,
        digest text not null,
        fetched_at timestamptz not null,
        primary key (account_id, connection_id),
        foreign key (account_id, connection_id) references connection (account_id, id) on delete cascade
      )
    `);
  }
}
