import { Migration } from "@mikro-orm/migrations";

/** Adds the time at which a verified key is verified again. */
export class AddVerifyDueAt extends Migration {
  override up(): void {
    this.addSql(`
      alter table connection add column verify_due_at timestamptz
    `);
    // Spread over the day, so that the keys are not all due at once.
    this.addSql(`
      update connection set verify_due_at = now() + random() * interval '24 hours' where verification_status <> 'pending'
    `);
    this.addSql(`
      create index connection_verify_due on connection (verify_due_at)
    `);
  }
}
