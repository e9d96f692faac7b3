import { Migration } from "@mikro-orm/migrations";

/** Creates the progress of backfills. A migration starts a backfill by inserting its name. */
export class CreateBackfill extends Migration {
  override up(): void {
    this.addSql(`
      create table backfill (
        name text primary key,
        -- The key of the last row that was changed; null before the first batch.
        last_key jsonb,
        rows_changed bigint not null default 0,
        created_at timestamptz not null default now(),
        finished_at timestamptz
      )
    `);
  }
}
