import { Migration } from "@mikro-orm/migrations";

/** Leaves free space in pages and indexes only columns that rarely change, so that most updates are heap-only. */
export class LeaveRoomForUpdates extends Migration {
  override up(): void {
    this.addSql("alter table connection set (fillfactor = 85)");
    for (const table of ["session", "login_session", "oauth_client", "personal_access_token", "tool_list"])
      this.addSql(`alter table ${table} set (fillfactor = 90)`);
    this.addSql("alter table session add column idle_since timestamptz not null default now()");
    this.addSql("update session set idle_since = last_used_at");
    this.addSql("drop index session_idle");
    this.addSql("create index session_idle on session (idle_since)");
  }
}
