import { Migration } from "@mikro-orm/migrations";

/** Creates the accepted definitions of tools, which connections with equal definitions share. */
export class CreateToolPin extends Migration {
  override up(): void {
    this.addSql(`
      create table tool_definition (
        -- Stands for what the upstream stated.
        digest text primary key,
        -- JSON as text: what strangers write may hold characters that jsonb refuses.
        definition text not null,
        -- How it is called, where the name alone does not say.
        plan text,
        used_at timestamptz not null default now()
      )
    `);
    this.addSql("create index tool_definition_used_at_idx on tool_definition (used_at)");
    this.addSql(`
      create table tool_pin_set (
        digest text primary key,
        -- Two lists of one length: a tool's name, and the digest of the definition that is in force.
        names text[] not null,
        definitions text[] not null,
        used_at timestamptz not null default now()
      )
    `);
    this.addSql("create index tool_pin_set_used_at_idx on tool_pin_set (used_at)");
    this.addSql(`
      alter table connection
        add column accept_tool_changes text not null default 'manual'
          constraint connection_accept_tool_changes_check check (accept_tool_changes in ('manual', 'automatic')),
        add column tool_pins text constraint connection_tool_pins_fkey references tool_pin_set (digest),
        add column changed_tools integer not null default 0
    `);
    this.addSql("create index connection_tool_pins_idx on connection (tool_pins) where tool_pins is not null");
  }
}
