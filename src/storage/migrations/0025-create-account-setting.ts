import { Migration } from "@mikro-orm/migrations";

/** Creates the settings of an account, which apply to all its connections. */
export class CreateAccountSetting extends Migration {
  override up(): void {
    this.addSql(`
      create table account_setting (
        account_id text primary key references account (id) on delete cascade,
        -- Whether agents with very many tools are given two that find and call them instead.
        tool_search boolean not null default false,
        updated_at timestamptz not null default now()
      )
    `);
  }
}
