import { Migration } from "@mikro-orm/migrations";

/** Creates the single row whose values all replicas share. */
export class CreateInstallation extends Migration {
  override up(): void {
    this.addSql(`
      create table installation (
        id integer primary key check (id = 1),
        master_key_fingerprint text not null,
        sealed_pepper bytea not null,
        created_at timestamptz not null default now()
      )
    `);
  }
}
