import { Migration } from "@mikro-orm/migrations";

/** Adds a connection's own time limits for calls, in seconds; 0 applies the operator's limit. */
export class LimitCalls extends Migration {
  override up(): void {
    this.addSql("alter table connection add column call_idle_seconds integer not null default 0");
    this.addSql("alter table connection add column call_max_seconds integer not null default 0");
  }
}
