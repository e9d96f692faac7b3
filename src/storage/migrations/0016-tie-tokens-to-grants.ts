import { Migration } from "@mikro-orm/migrations";

/** Grants can be revoked, and what was begun with their tokens ends with them. */
export class TieTokensToGrants extends Migration {
  override up(): void {
    this.addSql(`
      alter table revocation drop constraint revocation_kind_check
    `);
    this.addSql(`
      alter table revocation add constraint revocation_kind_check
        check (kind in ('token', 'client', 'connection', 'account', 'grant'))
    `);
    this.addSql(`
      alter table session add column grant_id text
    `);
    this.addSql(`
      create index session_grant on session (account_id, grant_id) where grant_id is not null
    `);
  }
}
